/** Some of a fixed list of keys, each with a number. */

/** KEY:NUMBER,KEY:NUMBER... with keys by number or label; "none" for no keys. */
export async function parseAnswer({ labels }, text) {
  const { labelOf } = await import("./choice.js"); // which no page needs for keys
  const parts = text.trim() === "none" ? [] : text.split(",");
  const pairs = parts.filter((part) => part.trim()).map((part) => {
    const at = part.lastIndexOf(":");
    return [labelOf(labels, part.slice(0, Math.max(at, 0)).trim()), Number(part.slice(at + 1))];
  });
  return Object.fromEntries(pairs);
}

/** Boxes to tick, and an amount for each that is; or none of them. */
export function control(card, title, { h, words, set, searched }) {
  const { question } = card;
  const { range: [low, high], keys } = question.mechanism;
  const names = question.labels ?? Array.from({ length: keys }, (_, i) => String(i));
  const none = h("input", { type: "checkbox", checked: card.value && !Object.keys(card.value).length });
  const rows = names.map((name) => {
    const held = card.value && Object.hasOwn(card.value, name);
    const box = h("input", { type: "checkbox", checked: held });
    const amount = h("input", {
      type: "number", min: low, max: high, step: "any", inputmode: "decimal", autocomplete: "off",
      "aria-label": words.amount(name), placeholder: `${low}–${high}`, value: held ? card.value[name] : null,
    });
    return { name, box, amount };
  });
  const collect = () => {
    for (const { box, amount } of rows) amount.hidden = !box.checked;
    const chosen = rows.filter(({ box }) => box.checked);
    const whole = chosen.every(({ amount }) => amount.value !== "");
    const value = Object.fromEntries(chosen.map(({ name, amount }) => [name, amount.valueAsNumber]));
    set((chosen.length && whole) || (!chosen.length && none.checked) ? value : undefined);
  };
  none.addEventListener("change", () => {
    if (none.checked) for (const { box } of rows) box.checked = false;
    collect();
  });
  for (const { box, amount } of rows) {
    amount.hidden = !box.checked;
    box.addEventListener("change", () => {
      if (box.checked) none.checked = false;
      collect();
      if (box.checked) amount.focus();
    });
    amount.addEventListener("input", collect);
  }
  const pairs = rows.map(({ name, box, amount }) => h("div", { class: "pair" }, h("label", { class: "option" }, box, h("span", {}, name)), amount));
  const list = h("div", { role: "group", "aria-labelledby": title, class: "options" }, pairs, h("label", { class: "option" }, none, h("span", {}, words.none)));
  return searched(list, pairs, names, title);
}

/** Keys and amounts. */
export function formatAnswer(value, words) {
  const pairs = Object.entries(value).map(([key, amount]) => `${key}: ${amount}`);
  return pairs.length ? pairs.join(", ") : words.none;
}

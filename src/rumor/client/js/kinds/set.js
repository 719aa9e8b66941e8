/** Any of a fixed list of options. */

/** OPTION|OPTION..., each a label or its number; "none", or a bar alone, for nothing. */
export async function parseAnswer(question, text) {
  const parts = text.split("|").map((part) => part.trim()).filter(Boolean);
  const none = parts.length === 1 && parts[0] === "none" && !question.labels?.includes("none");
  const choice = await import("./choice.js"); // which no page needs for a set
  return none ? [] : parts.map((part) => choice.parseAnswer(question, part));
}

/** Boxes to tick, as many as apply, or none of them. */
export function control(card, title, { h, words, set, searched }) {
  const { labels, mechanism: { domain, cap } } = card.question;
  const names = labels ?? Array.from({ length: domain }, (_, option) => option);
  const hint = `${title}-hint`;
  const none = h("input", { type: "checkbox", checked: card.value && !card.value.length });
  const rows = names.map((name) => ({ name, box: h("input", { type: "checkbox", checked: card.value?.includes(name) }) }));
  const collect = () => {
    const chosen = rows.filter(({ box }) => box.checked).map(({ name }) => name);
    set(chosen.length || none.checked ? chosen : undefined);
  };
  none.addEventListener("change", () => {
    if (none.checked) for (const { box } of rows) box.checked = false;
    collect();
  });
  for (const { box } of rows) {
    box.addEventListener("change", () => {
      if (box.checked) none.checked = false;
      collect();
    });
  }
  const capped = cap !== undefined && cap < domain;
  const options = rows.map(({ name, box }) => h("label", { class: "option" }, box, h("span", {}, String(name))));
  const list = h("div", { role: "group", "aria-labelledby": title, "aria-describedby": capped ? hint : null, class: "options" },
    options, h("label", { class: "option" }, none, h("span", {}, words.none)));
  return [capped ? h("p", { id: hint, class: "soft" }, words.upTo(cap)) : null, searched(list, options, names, title)];
}

/** The options that were chosen. */
export const formatAnswer = (value, words) => value.join(", ") || words.none;

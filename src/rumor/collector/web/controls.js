/** How each kind of question is answered. A control keeps its card's value: undefined is no answer. */

import { h } from "./dom.js";

// More answers than this are chosen from a list that opens.
const RADIOS = 12;
const QUIET = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };

/** The control of a card; `changed` is called when its value is another one. */
export function control(card, title, words, changed) {
  const set = (value) => {
    card.value = value;
    changed();
  };
  const kinds = { choice, text, number, keyvalue };
  return h("div", { class: "control" }, kinds[card.question.kind](card, title, words, set));
}

/** What a person answered, in words for themselves. */
export function shownValue(question, value, words) {
  if (question.kind !== "keyvalue") return String(value);
  const pairs = Object.entries(value).map(([key, amount]) => `${key}: ${amount}`);
  return pairs.length ? pairs.join(", ") : words.none;
}

function choice(card, title, words, set) {
  const { question } = card;
  const domain = question.mechanism.domain;
  if (!question.labels) {
    return numeric(card, title, words, set, { min: 0, max: domain - 1, step: 1, inputmode: "numeric" });
  }
  if (question.labels.length > RADIOS) {
    const options = question.labels.map((label) => h("option", { value: label, selected: label === card.value }, label));
    return h("select", { "aria-labelledby": title, onchange: (event) => set(event.target.value || undefined) },
      h("option", { value: "" }, words.choose), options);
  }
  const clear = h("button", { type: "button", class: "quiet", hidden: card.value === undefined }, words.clear);
  const radios = question.labels.map((label) =>
    h("input", {
      type: "radio", name: question.id, value: label, checked: label === card.value,
      onchange: () => {
        clear.hidden = false;
        set(label);
      },
    }));
  clear.addEventListener("click", () => {
    for (const radio of radios) radio.checked = false;
    clear.hidden = true;
    set(undefined);
    radios[0].focus();
  });
  const rows = radios.map((radio) => h("label", { class: "option" }, radio, h("span", {}, radio.value)));
  return [h("div", { role: "radiogroup", "aria-labelledby": title, class: "options" }, rows), clear];
}

function text(card, title, words, set) {
  const hint = `${title}-hint`;
  return [
    h("input", {
      type: "text", ...QUIET, "aria-labelledby": title, "aria-describedby": hint, maxlength: 200, value: card.value,
      oninput: (event) => set(event.target.value.trim() || undefined),
    }),
    h("p", { id: hint, class: "soft" }, words.oneWord),
  ];
}

function number(card, title, words, set) {
  const [low, high] = card.question.mechanism.range;
  return numeric(card, title, words, set, { min: low, max: high, step: "any", inputmode: "decimal" });
}

function numeric(card, title, words, set, limits) {
  const hint = `${title}-hint`;
  return [
    h("input", {
      type: "number", ...limits, autocomplete: "off", "aria-labelledby": title, "aria-describedby": hint, value: card.value,
      oninput: (event) => set(event.target.value === "" ? undefined : event.target.valueAsNumber),
    }),
    h("p", { id: hint, class: "soft" }, words.between(limits.min, limits.max)),
  ];
}

function keyvalue(card, title, words, set) {
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
  return h("div", { role: "group", "aria-labelledby": title, class: "options" },
    rows.map(({ name, box, amount }) => h("div", { class: "pair" }, h("label", { class: "option" }, box, h("span", {}, name)), amount)),
    h("label", { class: "option" }, none, h("span", {}, words.none)));
}

/** One of a fixed list of answers: labels, or numbers where there are none. */

import * as number from "./number.js";

/** A label or its number. */
export const parseAnswer = (question, text) => (question.labels ? labelOf(question.labels, text) : number.parseAnswer(question, text));

/** What is called by this name, or has this number where that is no name. */
export const labelOf = (labels, name) => (/^\d+$/.test(name) && !labels?.includes(name) && labels?.[name]) || name;

// More answers than this are chosen from a list that opens, and more than that by typing.
const [RADIOS, LISTED] = [12, 60];

/** An answer must be one of the list, or of the numbers that stand for it. */
export function mistake({ value, question: { labels, mechanism: { domain } } }, words) {
  if (labels) return value === null ? words.wrong.listed : null;
  return Number.isInteger(value) && value >= 0 && value < domain ? null : words.wrong.whole(0, domain - 1);
}

/** Buttons, a list that opens where there are many, a number where they have no names. */
export function control(card, title, tools) {
  const [{ question }, { h, words, set }] = [card, tools];
  const domain = question.mechanism.domain;
  if (!question.labels) {
    return number.numeric(card, title, tools, { min: 0, max: domain - 1, step: 1, inputmode: "numeric" });
  }
  if (question.labels.length > LISTED) return search(card, title, tools);
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
  const rows = radios.map((radio) => h("label", { class: "option" }, radio, h("span", { dir: "auto" }, radio.value)));
  return [h("div", { role: "radiogroup", "aria-labelledby": title, class: "options" }, rows), clear];
}

// So many suggestions are read, not all that there are.
const SUGGESTED = 40;

/** A field that suggests what begins, or goes on, as somebody types. */
function search(card, title, { h, words, set }) {
  const { labels } = card.question;
  const known = new Set(labels);
  const list = h("datalist", { id: `${title}-list` });
  const suggest = (begun) => {
    const wanted = begun.trim().toLowerCase();
    const found = [];
    for (const within of [(label) => label.startsWith(wanted), (label) => !label.startsWith(wanted) && label.includes(wanted)]) {
      for (const label of labels) {
        if (found.length >= SUGGESTED) break;
        if (within(label.toLowerCase())) found.push(label);
      }
    }
    list.replaceChildren(...found.map((label) => h("option", { value: label })));
  };
  suggest(card.value ?? "");
  const hint = `${title}-hint`;
  const changed = ({ target }) => {
    suggest(target.value);
    const value = target.value.trim();
    // What is no answer yet is none, and is not passed over either.
    set(value === "" ? undefined : known.has(value) ? value : null);
  };
  return [
    h("input", { type: "text", list: list.id, autocomplete: "off", dir: "auto", "aria-labelledby": title, "aria-describedby": hint, value: card.value ?? null, oninput: changed }),
    list,
    h("p", { id: hint, class: "soft" }, words.typeToFind(labels.length)),
  ];
}

/** One of a fixed list of answers: labels, or numbers where there are none. */

import * as number from "./number.js";

/** Read an answer: a label, or the number of one. */
export const parseAnswer = (question, text) => (question.labels ? labelOf(question.labels, text) : number.parseAnswer(question, text));

/** Return the label with this name, or else the label with this number, or else `name`. */
export const labelOf = (labels, name) => (/^\d+$/.test(name) && !labels?.includes(name) && labels?.[name]) || name;

// The most answers shown as radio buttons, and the most shown as a drop-down list; longer lists are searched by typing.
const [RADIOS, LISTED] = [12, 60];

/** Return the sentence about a value that is no label, or no number of the domain; null where it is valid. */
export function mistake({ value, question: { labels, mechanism: { domain } } }, words) {
  if (labels) return value === null ? words.wrong.listed : null;
  return Number.isInteger(value) && value >= 0 && value < domain ? null : words.wrong.whole(0, domain - 1);
}

/** Return the control: radio buttons, a drop-down list, a search field, or a number without labels. */
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

// The most suggestions that the search field shows.
const SUGGESTED = 40;

/** Return a search field that suggests labels which begin with the typed text, then labels which contain it. */
function search(card, title, { h, words, set }) {
  const { labels } = card.question;
  const known = new Set(labels);
  // Upper and lower case are one where they name one label; null is in two.
  const folded = new Map();
  for (const label of labels) folded.set(label.toLowerCase(), folded.has(label.toLowerCase()) ? null : label);
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
    // A text that is no label is null: neither an answer nor an empty field.
    set(value === "" ? undefined : known.has(value) ? value : (folded.get(value.toLowerCase()) ?? null));
  };
  return [
    h("input", { type: "text", list: list.id, autocomplete: "off", dir: "auto", "aria-labelledby": title, "aria-describedby": hint, value: card.value ?? null, oninput: changed }),
    list,
    h("p", { id: hint, class: "soft" }, words.typeToFind(labels.length)),
  ];
}

/** One of a fixed list of answers: labels, or numbers where there are none. */

import * as number from "./number.js";

/** Read an answer: a label, or the number of one. */
export const parseAnswer = (question, text) => (question.labels ? labelOf(question.labels, text) : number.parseAnswer(question, text));

/** Return the label with this name, or else the label with this number, or else `name`. */
export const labelOf = (labels, name) => (/^\d+$/.test(name) && !labels?.includes(name) && labels?.[name]) || name;

// The most answers that are all shown; longer lists are searched by typing, which shows at most so many.
const [SHOWN, FOUND] = [12, 60];

/** Return the sentence about a value that is no label, or no number of the domain; null where it is valid. */
export function mistake({ value, question: { labels, mechanism: { domain } } }, words) {
  if (labels) return value === null ? words.wrong.listed : null;
  return Number.isInteger(value) && value >= 0 && value < domain ? null : words.wrong.whole(0, domain - 1);
}

/** Return the control: a button for each label, a search of a long list, or a number without labels. */
export function control(card, title, tools, look = "options") {
  const { id, labels, mechanism: { domain } } = card.question;
  if (!labels) return number.numeric(card, title, tools, { min: 0, max: domain - 1, step: 1, inputmode: "numeric" });
  if (labels.length > SHOWN) return search(card, title, tools);
  const { views, show } = buttons(id, title, tools, look, tools.set);
  show(labels, card.value);
  return views;
}

/** Return a list of buttons, and a function that shows labels in it; `chose` is called with a label, or undefined. */
function buttons(name, title, { h, words }, look, chose) {
  const rows = h("div", { role: "radiogroup", "aria-labelledby": title, class: look });
  const radio = (label, own) =>
    h("input", {
      type: "radio", name, value: label, checked: label === own,
      onchange: () => {
        clear.hidden = false;
        chose(label);
      },
    });
  const clear = h("button", {
    type: "button", class: "quiet",
    onclick: () => {
      for (const each of rows.querySelectorAll("input")) each.checked = false;
      clear.hidden = true;
      chose(undefined);
      rows.querySelector("input").focus();
    },
  }, words.clear);
  const show = (labels, own) => {
    clear.hidden = (own ?? undefined) === undefined;
    rows.replaceChildren(...labels.map((label) => h("label", { class: "option" }, radio(label, own), h("span", { dir: "auto" }, label))));
  };
  return { views: [rows, clear], show };
}

/** Return a field and a list of the labels that begin with the typed text, then of those that contain it. */
function search(card, title, tools) {
  const [{ question: { id, labels }, value }, { h, words, set }] = [card, tools];
  const lower = labels.map((label) => label.toLowerCase());
  const known = new Set(labels);
  // Upper and lower case are one where they name one label; null is in two.
  const folded = new Map();
  labels.forEach((label, i) => folded.set(lower[i], folded.has(lower[i]) ? null : label));
  const find = (text) => {
    const wanted = text.toLowerCase();
    const found = [];
    for (const fits of [(each) => each.startsWith(wanted), (each) => !each.startsWith(wanted) && each.includes(wanted)]) {
      for (let i = 0; i < labels.length && found.length < FOUND; i++) if (fits(lower[i])) found.push(labels[i]);
    }
    return found;
  };
  const list = buttons(id, title, tools, "options found", (label) => {
    if (label === undefined) show("");
    set(label);
  });
  const hint = h("p", { id: `${title}-hint`, class: "soft", role: "status" });
  const field = h("input", {
    type: "search", autocomplete: "off", autocapitalize: "off", spellcheck: "false", dir: "auto", "aria-labelledby": title, "aria-describedby": hint.id,
    oninput: () => {
      const text = field.value.trim();
      // A text that is no label is null: neither an answer nor an empty field.
      const own = text === "" ? undefined : known.has(text) ? text : (folded.get(text.toLowerCase()) ?? null);
      show(field.value, own);
      set(own);
    },
  });
  const show = (text, own) => {
    const found = find(text.trim());
    field.value = text;
    hint.textContent = text.trim() ? words.found(found.length, FOUND) : words.typeToFind(labels.length);
    list.show(found, own);
  };
  show(value ?? "", value);
  return [field, hint, ...list.views];
}

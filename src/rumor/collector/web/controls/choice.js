/** One of a list: buttons, a list that opens where there are many, a number where they have no names. */

import { h } from "../dom.js";
import { numeric } from "./number.js";

// More answers than this are chosen from a list that opens.
const RADIOS = 12;

export function control(card, title, words, set) {
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

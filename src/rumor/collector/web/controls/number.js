/** A number between the ends of its range. */

import { h } from "../dom.js";

export function control(card, title, words, set) {
  const [low, high] = card.question.mechanism.range;
  return numeric(card, title, words, set, { min: low, max: high, step: "any", inputmode: "decimal" });
}

/** A field for a number within limits. */
export function numeric(card, title, words, set, limits) {
  const hint = `${title}-hint`;
  return [
    h("input", {
      type: "number", ...limits, autocomplete: "off", "aria-labelledby": title, "aria-describedby": hint, value: card.value,
      oninput: (event) => set(event.target.value === "" ? undefined : event.target.valueAsNumber),
    }),
    h("p", { id: hint, class: "soft" }, words.between(limits.min, limits.max)),
  ];
}

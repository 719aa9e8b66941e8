/** A number between the ends of its range. */

import { h } from "../dom.js";

export function control(card, title, words, set) {
  const [low, high] = card.question.mechanism.range;
  return numeric(card, title, words, set, { min: low, max: high, step: "any", inputmode: "decimal" });
}

/** Nothing that was typed may be lost in silence: a field that holds no number has a value that is none. */
export const wrong = ({ value }, words) => (Number.isNaN(value) ? words.wrong.number : null);

/** A field for a number within limits. */
export function numeric(card, title, words, set, limits) {
  const hint = `${title}-hint`;
  const note = h("p", { id: hint, class: "soft" }, words.between(limits.min, limits.max));
  return [
    h("input", {
      type: "number", ...limits, autocomplete: "off", "aria-labelledby": title, "aria-describedby": hint, value: card.value,
      oninput: ({ target }) => {
        // What a browser cannot read as a number it gives as nothing at all.
        set(target.value === "" && !target.validity.badInput ? undefined : target.valueAsNumber);
        note.textContent = target.valueAsNumber < limits.min || target.valueAsNumber > limits.max ? words.wrong.beyond(limits.min, limits.max) : words.between(limits.min, limits.max);
      },
    }),
    note,
  ];
}

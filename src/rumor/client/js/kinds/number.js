/** A number within a range. */

/** A number; any other text is left for the mechanism to refuse. */
export const parseAnswer = (question, text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

/** A field between the ends of the range. */
export function control(card, title, tools) {
  const [low, high] = card.question.mechanism.range;
  return numeric(card, title, tools, { min: low, max: high, step: "any", inputmode: "decimal" });
}

/** Return the sentence about a typed text that is no number, which must not count as an empty field; null where it is valid. */
export const mistake = ({ value }, words) => (Number.isNaN(value) ? words.wrong.number : null);

/** A field for a number within limits. */
export function numeric(card, title, { h, words, set }, limits) {
  const hint = `${title}-hint`;
  const note = h("p", { id: hint, class: "soft" }, words.between(limits.min, limits.max));
  return [
    h("input", {
      type: "number", ...limits, autocomplete: "off", "aria-labelledby": title, "aria-describedby": hint, value: card.value,
      oninput: ({ target }) => {
        // For a text that is no number, browsers report an empty value; `badInput` tells it from an empty field.
        set(target.value === "" && !target.validity.badInput ? undefined : target.valueAsNumber);
        note.textContent = target.valueAsNumber < limits.min || target.valueAsNumber > limits.max ? words.wrong.beyond(limits.min, limits.max) : words.between(limits.min, limits.max);
      },
    }),
    note,
  ];
}

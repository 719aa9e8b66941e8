/** A number within a range. */

/** A number; any other text is left for the mechanism to refuse. */
export const parseAnswer = (question, text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

/** A field between the ends of the range. */
export function control(card, title, tools) {
  const [low, high] = card.question.mechanism.range;
  return numeric(card, title, tools, { min: low, max: high, step: "any", inputmode: "decimal" });
}

/** Nothing that was typed may be lost in silence: a field that holds no number has a value that is none. */
export const mistake = ({ value }, words) => (Number.isNaN(value) ? words.wrong.number : null);

/** A field for a number within limits. */
export function numeric(card, title, { h, words, set }, limits) {
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

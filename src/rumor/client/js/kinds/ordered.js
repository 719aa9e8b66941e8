/** An answer that has an order: one of the labels, or a number. */

import * as choice from "./choice.js";
import * as number from "./number.js";

export { parseAnswer } from "./choice.js";

/** Return the sentence about a value that is no number or no label; null where it is valid. */
export const mistake = (card, words) => (card.question.labels ? choice : number).mistake(card, words);

/** Return the control, labels or a slider with a number field, and the strip of likely reports. */
export function control(card, title, tools) {
  const { labels, mechanism } = card.question;
  const strip = reach(mechanism, tools);
  const place = labels ? (value) => labels.indexOf(value) : placeOn(mechanism);
  // An empty or invalid answer has no place on the strip.
  const shown = (value) => strip.show(value === undefined || value === null || Number.isNaN(value) ? null : place(value));
  shown(card.value);
  const changed = (value) => {
    shown(value);
    tools.set(value);
  };
  return [(labels ? choice.control : slider)(card, title, { ...tools, set: changed }), strip.view];
}

/** Return a slider and a number field that show one number. */
function slider(card, title, { h, words, set }) {
  const limits = limitsOf(card.question.mechanism);
  const typedIn = (value) => {
    if (value !== undefined) line.value = value;
    touched(value !== undefined);
    set(value);
  };
  const [field, hint] = number.numeric(card, title, { h, words, set: typedIn }, { ...limits, inputmode: limits.step === 1 ? "numeric" : "decimal" });
  const line = h("input", {
    type: "range", ...limits, step: limits.step === 1 ? 1 : (limits.max - limits.min) / 1000, "aria-labelledby": title,
    value: card.value ?? (limits.min + limits.max) / 2,
    oninput: (event) => {
      touched(true);
      field.value = Number(event.target.valueAsNumber.toPrecision(4));
      set(field.valueAsNumber);
    },
  });
  // An untouched slider is no answer, so it is drawn in the colour of lines.
  const touched = (answered) => Object.assign(line.style, { width: "100%", accentColor: `var(--${answered ? "accent" : "line"})` });
  touched(card.value !== undefined);
  return [line, field, hint];
}

/** Return the field's limits: whole numbers if each is one position, otherwise the ends of the range. */
function limitsOf({ range: [low, high], bins }) {
  const whole = high - low === bins && Number.isInteger(low + 0.5);
  return whole ? { min: low + 0.5, max: high - 0.5, step: 1 } : { min: low, max: high, step: "any" };
}

/** Return a function that gives the position of a number. */
const placeOn = ({ range: [low, high], bins }) => (value) =>
  Math.max(0, Math.min(Math.floor(((value - low) * bins) / (high - low)), bins - 1));

/** Return the strip of all possible reports, on which the likeliest reports of the answer are marked. */
function reach({ bins, window, inside }, { h, words }) {
  const part = h("span", {});
  const view = h("div", {},
    h("div", { class: "track", "aria-hidden": "true" }, part),
    h("p", { class: "soft" }, words.reach(Number(inside) / 2 ** 64)));
  view.style.marginTop = "0.9rem";
  const show = (place) => {
    view.hidden = place === null;
    const outputs = bins + window - 1;
    Object.assign(part.style, {
      insetInlineStart: `${(100 * (place ?? 0)) / outputs}%`, width: `${(100 * window) / outputs}%`, background: "var(--accent)",
    });
  };
  return { view, show };
}

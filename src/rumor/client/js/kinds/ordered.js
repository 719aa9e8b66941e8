/** An answer that has an order: one of the labels, or a number. */

import * as choice from "./choice.js";
import * as number from "./number.js";

export { parseAnswer } from "./choice.js";

/** What is no number, or no label of a long list. */
export const mistake = (card, words) => (card.question.labels ? choice : number).mistake(card, words);

/** The labels, or a slider with a field for the number, and what of it is sent. */
export function control(card, title, tools) {
  const { labels, mechanism } = card.question;
  const strip = reach(mechanism, tools);
  const place = labels ? (value) => labels.indexOf(value) : placeOn(mechanism);
  // What is no answer yet has no place.
  const shown = (value) => strip.show(value === undefined || value === null || Number.isNaN(value) ? null : place(value));
  shown(card.value);
  const changed = (value) => {
    shown(value);
    tools.set(value);
  };
  return [(labels ? choice.control : slider)(card, title, { ...tools, set: changed }), strip.view];
}

/** A slider and a field that say the same number. */
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
  // A slider that nobody moved says nothing, and looks like it.
  const touched = (answered) => Object.assign(line.style, { width: "100%", accentColor: `var(--${answered ? "accent" : "line"})` });
  touched(card.value !== undefined);
  return [line, field, hint];
}

/** Whole numbers, where each is a position of its own, or the ends of the range. */
function limitsOf({ range: [low, high], bins }) {
  const whole = high - low === bins && Number.isInteger(low + 0.5);
  return whole ? { min: low + 0.5, max: high - 0.5, step: 1 } : { min: low, max: high, step: "any" };
}

/** The position of a number. */
const placeOn = ({ range: [low, high], bins }) => (value) =>
  Math.max(0, Math.min(Math.floor(((value - low) * bins) / (high - low)), bins - 1));

/** The line of everything that may be sent, and on it the part in which the report of an answer is likeliest. */
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

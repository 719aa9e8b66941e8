/** An answer that has an order: one of the labels, or a number. */

import * as choice from "./choice.js";
import * as number from "./number.js";

export { parseAnswer } from "./choice.js";

/** Return the sentence about a value that is no number or no label; null where it is valid. */
export const mistake = (card, words) => (card.question.labels ? choice : number).mistake(card, words);

/** Return the control, labels or numbers, and the strip of likely reports. */
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
  return [(labels ? choice.control : scale)(card, title, { ...tools, set: changed }), strip.view];
}

// The most positions that are a button each.
const BUTTONS = 11;

/** Return buttons for whole numbers that are few, and otherwise a slider and a number field that show one number. */
function scale(card, title, tools) {
  const limits = limitsOf(card.question.mechanism);
  if (limits.step !== 1 || limits.max - limits.min >= BUTTONS) return slider(card, title, tools, limits);
  const labels = Array.from({ length: limits.max - limits.min + 1 }, (_, i) => String(limits.min + i));
  const own = { question: { ...card.question, labels }, value: card.value === undefined ? undefined : String(card.value) };
  return choice.control(own, title, { ...tools, set: (label) => tools.set(label === undefined ? undefined : Number(label)) }, "options scale");
}

/** Return a slider that steps from position to position, without one before it is moved, and a number field. */
function slider(card, title, { h, words, set }, limits) {
  const { mechanism } = card.question;
  const [place, last] = [placeOn(mechanism), mechanism.bins - 1];
  const mark = (value) => {
    const known = Number.isFinite(value);
    line.classList.toggle("unset", !known);
    line.setAttribute("aria-valuetext", known ? String(value) : words.choose);
    if (known) line.value = place(value);
  };
  const [field, hint] = number.numeric(card, title, {
    h, words,
    set: (value) => {
      mark(value);
      set(value);
    },
  }, { ...limits, inputmode: limits.step === 1 ? "numeric" : "decimal" });
  const moved = () => {
    const value = numberAt(mechanism, Math.round(line.valueAsNumber));
    field.value = value;
    mark(value);
    set(value);
  };
  // A click where the line already stands is an answer too.
  const line = h("input", { type: "range", min: 0, max: last, step: 1, value: last >> 1, "aria-labelledby": title, oninput: moved, onclick: moved });
  mark(card.value);
  return [line, field, hint];
}

/** Return the middle of a position, in as few digits as name it. */
function numberAt({ range: [low, high], bins }, place) {
  const [middle, placed] = [low + ((place + 0.5) * (high - low)) / bins, placeOn({ range: [low, high], bins })];
  for (let digits = 1; ; digits++) {
    const short = Number(middle.toPrecision(digits));
    if (digits > 16 || (placed(short) === place && short >= low && short <= high)) return short;
  }
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

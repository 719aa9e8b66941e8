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
  return [(labels ? labelScale : scale)(card, title, { ...tools, set: changed }), strip.view];
}

// The most positions that are a button each; and the most labels on a slider, for which a phone has some 300 pixels.
const [BUTTONS, SLIDES] = [11, 100];

/** Return buttons for few labels, a slider for more, and a search for labels that are too many for a slider. */
function labelScale(card, title, tools) {
  const { labels } = card.question;
  if (labels.length <= BUTTONS || labels.length > SLIDES) return choice.control(card, title, tools);
  const { h, words, set } = tools;
  const named = h("p", { class: "value", dir: "auto", "aria-hidden": "true" });
  const clear = h("button", { type: "button", class: "quiet", onclick: () => (show(undefined), set(undefined), line.input.focus()) }, words.clear);
  const line = slide(title, tools, labels.length - 1, [labels[0], labels.at(-1)], (place) => (show(labels[place]), set(labels[place])));
  const show = (label) => {
    const place = labels.indexOf(label);
    line.mark(place < 0 ? null : place, label);
    named.textContent = label ?? words.choose;
    named.classList.toggle("soft", place < 0);
    clear.hidden = place < 0;
  };
  show(card.value);
  return [named, line.views, clear];
}

/** Return buttons for whole numbers that are few, and otherwise a slider and a number field that show one number. */
function scale(card, title, tools) {
  const limits = limitsOf(card.question.mechanism);
  if (limits.step !== 1 || limits.max - limits.min >= BUTTONS) return slider(card, title, tools, limits);
  const labels = Array.from({ length: limits.max - limits.min + 1 }, (_, i) => String(limits.min + i));
  const own = { question: { ...card.question, labels }, value: card.value === undefined ? undefined : String(card.value) };
  return choice.control(own, title, { ...tools, set: (label) => tools.set(label === undefined ? undefined : Number(label)) }, "options scale");
}

/** Return a slider that steps from position to position, and a number field. */
function slider(card, title, tools, limits) {
  const { mechanism } = card.question;
  const place = placeOn(mechanism);
  const show = (value) => line.mark(Number.isFinite(value) ? place(value) : null, value);
  const [field, hint] = number.numeric(card, title, { ...tools, set: (value) => (show(value), tools.set(value)) }, { ...limits, inputmode: limits.step === 1 ? "numeric" : "decimal" });
  const line = slide(title, tools, mechanism.bins - 1, [limits.min, limits.max], (at) => {
    const value = numberAt(mechanism, at);
    field.value = value;
    show(value);
    tools.set(value);
  });
  show(card.value);
  return [line.views, field, hint];
}

/**
 * Return a slider from place 0 to `last`, between the names of its `ends`, and a function that marks a place with its name.
 * Before it is moved (a place of null) it has none. `chose` is called with a place.
 */
function slide(title, { h, words }, last, ends, chose) {
  const moved = () => chose(Math.round(input.valueAsNumber));
  // A click where the line already stands is an answer too.
  const input = h("input", { type: "range", min: 0, max: last, step: 1, value: last >> 1, "aria-labelledby": title, oninput: moved, onclick: moved });
  const mark = (place, name) => {
    input.classList.toggle("unset", place === null);
    input.setAttribute("aria-valuetext", place === null ? words.choose : String(name));
    if (place !== null) input.value = place;
  };
  return { input, mark, views: [input, h("p", { class: "soft ends", "aria-hidden": "true" }, ends.map((end) => h("span", { dir: "auto" }, String(end))))] };
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

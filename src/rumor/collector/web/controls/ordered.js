/** An answer that has an order: its labels, or a slider with a field for the number, and what of it is sent. */

import { h } from "../dom.js";
import * as choice from "./choice.js";
import { numeric } from "./number.js";

export function control(card, title, words, set) {
  const { labels, mechanism } = card.question;
  const strip = reach(mechanism, words);
  const place = labels ? (value) => labels.indexOf(value) : placeOn(mechanism);
  const shown = (value) => strip.show(value === undefined ? null : place(value));
  shown(card.value);
  const changed = (value) => {
    shown(value);
    set(value);
  };
  return [labels ? choice.control(card, title, words, changed) : slider(card, title, words, changed), strip.view];
}

/** A slider and a field that say the same number. */
function slider(card, title, words, set) {
  const limits = limitsOf(card.question.mechanism);
  const [field, hint] = numeric(card, title, words, (value) => {
    if (value !== undefined) line.value = value;
    line.classList.toggle("unset", value === undefined);
    set(value);
  }, { ...limits, inputmode: limits.step === 1 ? "numeric" : "decimal" });
  const line = h("input", {
    type: "range", ...limits, step: limits.step === 1 ? 1 : (limits.max - limits.min) / 1000, "aria-labelledby": title,
    class: card.value === undefined ? "unset" : "", value: card.value ?? (limits.min + limits.max) / 2,
    oninput: (event) => {
      line.classList.remove("unset");
      field.value = Number(event.target.valueAsNumber.toPrecision(4));
      set(field.valueAsNumber);
    },
  });
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
function reach({ bins, window, inside }, words) {
  const part = h("span", {});
  const view = h("div", { class: "reach" },
    h("div", { class: "track", "aria-hidden": "true" }, part),
    h("p", { class: "soft" }, words.reach(Number(inside) / 2 ** 64)));
  const show = (place) => {
    view.hidden = place === null;
    const outputs = bins + window - 1;
    part.style.setProperty("--from", (place ?? 0) / outputs);
    part.style.setProperty("--wide", window / outputs);
  };
  return { view, show };
}

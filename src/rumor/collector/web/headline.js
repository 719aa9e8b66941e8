/** The answer in one line: the first figure with its interval, and how it moved. */

import { changesOf, differencesOf, saidChange } from "./changes.js";
import { ends as endsOf } from "./numbers.js";
import { panelOf } from "./panels.js";

/**
 * Return how the values of a question changed: against the period before where that is compared, else over time.
 * @returns {Map<string, object>} by value; empty where nothing is known
 */
export function changesIn({ trend, compared, looks }, quantity) {
  if (compared) return differencesOf(compared.found, quantity, compared.before);
  return trend ? changesOf(trend, looks, quantity) : new Map();
}

/** Return the headline in two parts: the figure, and its change where one is known. */
export function headline(question, estimate, known) {
  const top = panelOf(question).top(estimate);
  if (!top) return { figure: "No word stands out from noise.", change: null };
  const { name, quantity, value, low, high, show } = top;
  const ends = low === null || low === undefined ? "" : ` (${endsOf(low, high, show)})`;
  const change = changesIn(known, quantity).get(String(name)) ?? null;
  return { figure: `${name}: ${show(value)}${ends}`, change: change && saidChange(change) };
}

/** Sets: the share of people who chose each option, and of those who chose two of them. */

import { h } from "/client/view/dom.js";
import { decimals, interval, share } from "../numbers.js";

export * from "./choice.js";

// The most pairs that are shown; `rumor estimate --json` has all.
const PAIRS = 5;

export const note = "Shares have no sum: people may choose several options.";

/** Return the pairs of options that are chosen together most often, if pairs are counted. */
export function remarks({ pairs, level }) {
  if (!pairs) return [];
  const said = pairs.slice(0, PAIRS).map(({ first, second, frequency, low, high, stderr }) => {
    const shown = (value) => share(value, decimals(stderr));
    return h("li", {}, `${first} and ${second}: ${shown(frequency)} (${interval(low, high, shown)})`);
  });
  return [h("p", {}, h("strong", {}, "Chosen together"), ` most often, with ${share(level, 0)} intervals:`), h("ul", {}, said)];
}

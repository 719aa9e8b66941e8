/** A choice, and most other kinds: answers, and the share of people who gave each. */

import { shares } from "../bars.js";
import { decimals, interval, plain, share } from "../numbers.js";

const shown = (estimate) => (value) => share(value, decimals(estimate.halving.stderr));

/** The charts by the ids of their places; `how` is for the rows of bars. */
export const charts = { shares: (question, estimate, how) => shares(estimate.estimates, shown(estimate), how) };

/** Whether rows have names to search for, and an order to choose. */
export const isList = true;

/** What the headline says: the most frequent answer. */
export const top = (estimate) =>
  estimate.estimates.slice(0, 1).map(({ value, frequency, low, high }) => ({ name: value, quantity: "share", value: frequency, low, high, show: shown(estimate) }))[0];

/** The most rows of the table; the downloads have all. */
export const most = 500;

/** An error with its unit, and the name of the error at the top. */
export const error = (value) => `${plain(100 * value, 2)} points`;
export const errorName = "largest standard error";

/** The table: what its columns are called, and the cells of a row after its name. */
export function columns(estimate, level) {
  const show = shown(estimate);
  const cells = (row) => [show(row.frequency), interval(row.low, row.high, show), show(row.stderr)];
  return { head: ["answer", "share", `${level} interval`, "standard error"], cells };
}

/** A choice, and most other kinds: answers, and the share of people who gave each. */

import { shares } from "../charts.js";
import { decimals, interval, plain, share } from "../numbers.js";

/** The charts by the ids of their places. */
export const charts = { shares: (question, { estimates }) => shares(estimates) };

/** The most rows of the table; the downloads have all. */
export const most = 500;

/** An error with its unit, and the name of the error at the top. */
export const error = (value) => `${plain(100 * value, 2)} points`;
export const errorName = "largest standard error";

/** The table: what its columns are called, and the cells of a row after its name. */
export function columns(estimate, level) {
  const shown = (value) => share(value, decimals(estimate.halving.stderr));
  const cells = (row) => [shown(row.frequency), interval(row.low, row.high, shown), shown(row.stderr)];
  return { head: ["answer", "share", `${level} interval`, "standard error"], cells };
}

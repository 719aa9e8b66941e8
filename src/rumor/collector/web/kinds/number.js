/** A number: one mean, in its own unit. */

import { means } from "../charts.js";
import { fixed, interval, plain } from "../numbers.js";

export const charts = { means: ({ range }, { estimates }) => means(estimates, range, "mean") };

export const error = (value) => plain(value, 2);
export const errorName = "standard error";

/** The mean stands at the top as well. */
export const figures = ({ estimates, halving }) => estimates.slice(0, 1).map(({ mean }) => [fixed(mean, halving.stderr), "mean"]);

export function columns(estimate, level) {
  const cells = (row) => {
    const shown = (value) => fixed(value, row.stderr);
    return [shown(row.mean), interval(row.low, row.high, shown), plain(row.stderr, 2)];
  };
  return { head: ["", "mean", `${level} interval`, "standard error"], cells };
}

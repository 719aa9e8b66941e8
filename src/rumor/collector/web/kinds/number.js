/** A number: one mean, in its own unit. */

import { means } from "../bars.js";
import { fixed, interval, plain } from "../numbers.js";

const shown = ({ halving }) => (value) => fixed(value, halving.stderr);

export const charts = { means: ({ range }, estimate) => means(estimate.estimates, range, shown(estimate)) };

export const top = (estimate) => {
  const [{ mean, low, high }] = estimate.estimates;
  return { name: "mean", quantity: "mean", value: mean, low, high, show: shown(estimate) };
};

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

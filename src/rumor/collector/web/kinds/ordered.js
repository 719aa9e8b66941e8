/** Ordered answers: the distribution in bars, with its mean and its median. */

import { shares } from "../charts.js";
import { decimals, fixed, interval, plain, share } from "../numbers.js";

/** Neighbours together, where there are many positions. */
export const rows = ({ histogram }) => histogram;

export const charts = { shares: (question, { histogram }) => shares(histogram) };

export const error = (value) => plain(value, 2);
export const errorName = "standard error of the mean";

export function figures({ mean, quantiles, halving }) {
  const median = quantiles.find((each) => each.share === 0.5);
  return [[fixed(mean.value, halving.stderr), "mean"], [median.label ?? fixed(median.value, halving.stderr), "median"]];
}

export function columns({ histogram }, level) {
  const digits = decimals(Math.max(...histogram.map((row) => row.stderr)));
  const shown = (value) => share(value, digits);
  const cells = (row) => [shown(row.frequency), interval(row.low, row.high, shown), shown(row.stderr)];
  return { head: ["answer", "share", `${level} interval`, "standard error"], cells };
}

/** Ordered answers: the distribution in bars, with its mean and its median. */

import { shares } from "../bars.js";
import { decimals, fixed, interval, plain, share } from "../numbers.js";

/** Neighbours together, where there are many positions. */
export const rows = ({ histogram }) => histogram;

const shown = (histogram) => {
  const digits = decimals(Math.max(...histogram.map((row) => row.stderr)));
  return (value) => share(value, digits);
};

export const charts = { shares: (question, { histogram }, { most } = {}) => shares(histogram, shown(histogram), { most }) };

export const top = ({ mean: { value, low = null, high = null }, halving }) =>
  ({ name: "mean", quantity: "mean", value, low, high, show: (number) => fixed(number, halving.stderr) });

export const error = (value) => plain(value, 2);
export const errorName = "standard error of the mean";

export function figures({ mean, quantiles, halving }) {
  const median = quantiles.find((each) => each.share === 0.5);
  return [[fixed(mean.value, halving.stderr), "mean"], [median.label ?? fixed(median.value, halving.stderr), "median"]];
}

export function columns({ histogram }, level) {
  const show = shown(histogram);
  const cells = (row) => [show(row.frequency), interval(row.low, row.high, show), show(row.stderr)];
  return { head: ["answer", "share", `${level} interval`, "standard error"], cells };
}

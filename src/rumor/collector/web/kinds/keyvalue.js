/** Keys with a number each: the share who hold a key, and the mean of those who do. */

import { means } from "../bars.js";
import { h } from "/client/view/dom.js";
import { decimals, interval, plain, share } from "../numbers.js";
import * as choice from "./choice.js";

export const charts = {
  ...choice.charts,
  means: ({ range }, { estimates }) => h("div", {}, h("h3", {}, "Mean of those who hold it"), means(estimates, range)),
};

export const { error, errorName, isList, top } = choice;

export function columns(estimate, level) {
  const shown = (value) => share(value, decimals(estimate.halving.stderr));
  const cells = (row) => [
    shown(row.frequency) + (row.known ? "" : " ?"), interval(row.low, row.high, shown),
    plain(row.mean) + (row.mean_known ? "" : " ?"), interval(row.mean_low, row.mean_high, (value) => plain(value)),
  ];
  return { head: ["key", "share", `${level} interval`, "mean", `${level} interval`], cells };
}

/** The sentence below the table. */
export const note = "? marks answers that are no better than the prior.";

/** Joint answers: each table as a heat map, with the association of its answers. */

import { tables } from "../charts.js";
import { h } from "/client/view/dom.js";
import { decimals, interval, pValue, plain, share } from "../numbers.js";
import * as choice from "./choice.js";

export const { error, errorName } = choice;

/** Whether the chart shows every row of the table. */
export const whole = true;

const partsOf = ({ tables: found }) => [...new Set(found.flatMap(({ parts }) => parts))];

/** Cells, then margins, each called by its parts. */
export function rows(estimate) {
  const ids = partsOf(estimate);
  const name = (row) => ids.filter((id) => row[id] !== null).map((id) => `${id}: ${row[id]}`).join(", ");
  return estimate.estimates.map((row) => ({ ...row, value: name(row) }));
}

export const charts = {
  tables: (question, estimate) => tables(estimate.tables.map(({ parts }) => ({ parts, cells: cellsOf(estimate, parts) }))),
};

const cellsOf = ({ estimates }, [first, second]) =>
  estimates
    .filter((row) => row[first] !== null && row[second] !== null)
    .map((row) => ({ ...row, row: row[first], column: row[second] }));

/** What the headline says: the most frequent combination of answers. */
export function top(estimate) {
  const cells = rows(estimate).filter((row) => row.ratio !== null);
  const most = cells.reduce((best, row) => (row.frequency > best.frequency ? row : best), cells[0]);
  return most && { name: most.value, quantity: "share", ...most, value: most.frequency, show: (value) => share(value, decimals(estimate.halving.stderr)) };
}

/** Return the association of the answers, if there is one table. */
export const figures = ({ tables: found }) =>
  found.length === 1 ? [[plain(found[0].cramers_v.value, 2), "Cramér's V"]] : [];

/** Return a sentence on the association of the answers in each table. */
export function remarks({ tables: found, looks }) {
  const ends = ({ low, high }) => (high === null ? `${plain(low)} or more` : interval(low, high, (value) => plain(value)));
  const said = found.map(({ parts, independence, cramers_v: v, odds_ratio: odds, weight_of_independence: weight }) => {
    const ratio = odds ? ` Odds ratio ${plain(odds.value)} (${ends(odds)}).` : "";
    const words = `${parts.join(" and ")}: Cramér's V ${plain(v.value)} (${ends(v)}); p-value of independence ${pValue(independence.p_value)}, weight of independence ${share(weight)}.${ratio}`;
    return h("p", {}, words);
  });
  return looks === "any" ? [...said, h("p", { class: "soft" }, "The test and the measures of association are valid for one look.")] : said;
}

export function columns(estimate, level) {
  const shown = (value) => share(value, decimals(estimate.halving.stderr));
  const cells = (row) => [shown(row.frequency), interval(row.low, row.high, shown), row.ratio === null ? "" : plain(row.ratio)];
  return { head: ["answer", "share", `${level} interval`, "times independence"], cells };
}

/** Figures in rows: each with its name, its share or mean with the interval in print, and a bar to compare by. */

import { h } from "/client/view/dom.js";
import { ends as endsOf, plain, points } from "./numbers.js";

/** The most rows of a chart; tables and downloads have more. */
export const ROWS = 20;

// Characters that turn the texts around them.
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
export const printable = (value) => String(value).replace(TURNS, "");

/**
 * Return rows of figures as a list.
 * @param {{ value: any, answer: number | null, low: number | null, high: number | null, faint?: boolean, more?: string }[]} rows
 * @param {{ ends: [number, number], show: (number: number) => string, mark?: string, cut?: number | null }} how `mark` is bar,
 *   point or difference; from the row `cut` on nothing stands out from noise
 */
function figureRows(rows, { ends: [first, last], show, mark = "bar", cut = null }) {
  const place = (number) => (Math.min(1, Math.max(0, (number - first) / (last - first || 1))) * 100).toFixed(2) + "%";
  const track = ({ answer, low, high }) => {
    const marks = answer === null ? [] : [h("i", { class: "answer" }), low !== null && h("i", { class: "whisker" })];
    const node = h("span", { class: `track ${mark}`, "aria-hidden": "true" }, marks);
    for (const [name, number] of Object.entries({ answer, low, high })) if (number !== null) node.style.setProperty(`--${name}`, place(number));
    return node;
  };
  const row = (each) => h("li", { class: each.faint ? "faint" : null },
    h("span", { class: "name", dir: "auto" }, printable(each.value)),
    track(each),
    h("span", { class: "said" }, h("strong", {}, show(each.answer)), each.answer !== null && each.low !== null && ` ${endsOf(each.low, each.high, show)}`),
    each.more ? h("span", { class: "more" }, each.more) : null);
  const found = rows.slice(0, ROWS).map(row);
  if (cut !== null && cut > 0 && cut < found.length) found.splice(cut, 0, h("li", { class: "cut" }, "The answers below this line do not stand out from noise."));
  return h("ol", { class: "bars" }, found);
}

/** Return whether a row stands out from noise: its interval lies above 0, or its word was detected. */
export const standsOut = (row) => row.detected ?? row.low > 0;

/**
 * Return shares as bars, each with its interval.
 * @param {any[]} estimates
 * @param {(share: number) => string} show
 * @param {{ most?: number, more?: (row: any) => string | null, isRanked?: boolean, isCut?: boolean }} [how] `most`: the share at the
 *   right end; `isRanked`: whether rows that do not stand out are faint; `isCut`: whether a line parts them from the others
 */
export function shares(estimates, show, { most = null, more = () => null, isRanked = false, isCut = false } = {}) {
  const shown = estimates.slice(0, ROWS);
  const rows = shown.map((row) => ({ ...row, answer: row.frequency, faint: isRanked && !standsOut(row), more: more(row) }));
  const cut = rows.findIndex(({ faint }) => faint);
  const end = most ?? Math.max(...rows.map(({ high, answer }) => high ?? answer));
  return figureRows(rows, { ends: [0, end], show, cut: isCut && cut >= 0 && rows.slice(cut).every(({ faint }) => faint) ? cut : null });
}

/** Return means as points on the whole range, each with its interval. */
export function means(estimates, range, show = (number) => plain(number)) {
  const ends = (row) => ("mean_low" in row ? { low: row.mean_low, high: row.mean_high } : {});
  return figureRows(estimates.map((row) => ({ ...row, ...ends(row), answer: row.mean })), { ends: range, show, mark: "point" });
}

/** Return differences as points around zero, each with its interval. */
export function differences(estimates) {
  const isShare = ["share", "up to"].includes(estimates[0].quantity);
  const rows = estimates.filter(({ quantity }) => quantity === estimates[0].quantity).map((row) => ({ ...row, answer: row.difference }));
  const far = Math.max(...rows.slice(0, ROWS).flatMap(({ low, high }) => [Math.abs(low), Math.abs(high)]));
  const show = (number) => (number > 0 ? "+" : "") + (isShare ? points(number) : plain(number));
  return h("div", {}, isShare && h("p", { class: "soft" }, "The second period less the first, in percentage points:"), figureRows(rows, { ends: [-far, far], show, mark: "difference" }));
}

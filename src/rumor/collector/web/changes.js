/** What changed: of each value how much, since when or against which days, and whether chance explains it. */

import { day, plain, points } from "./numbers.js";

const SHARES = ["share", "up to"];
const CHANCE = 0.05; // the adjusted p-value below which a change is more than chance

/**
 * Return the changes of the values over time, by name. At one look those are clear whose p-value, adjusted for searching all
 * values and days, is small; at any look those that the weekly watch found, and those whose p-value is small enough for
 * somebody who looks once a day: below 0.05 / t^2 after t days, which sums to 0.02 from the third day on.
 * @returns {Map<string, { size: number, low: number | null, high: number | null, isShare: boolean, clear: boolean, p: number, when: string }>}
 */
export function changesOf(trend, looks, quantity) {
  const since = trend.periods[0];
  const chance = looks === "any" ? CHANCE / trend.periods.length ** 2 : CHANCE;
  const watched = new Map(trend.watch.changes.filter((each) => each.quantity === quantity).map((each) => [String(each.value), each]));
  return new Map(trend.changes.filter((each) => each.quantity === quantity).map((each) => {
    const value = String(each.value);
    const found = each.adjusted < chance ? each : looks === "any" ? watched.get(value) : undefined;
    return [value, {
      size: (found ?? each).after - (found ?? each).before, low: null, high: null, isShare: SHARES.includes(quantity),
      clear: found !== undefined, p: each.p_value, when: `since ${day(found?.from ?? since)}`,
    }];
  }));
}

/** Return the differences of a period from the one before, by the names of the values. */
export const differencesOf = (compared, quantity, before) =>
  new Map(compared.estimates.filter((each) => each.quantity === quantity).map((each) => [String(each.value), {
    size: each.difference, low: each.low, high: each.high, isShare: SHARES.includes(quantity),
    clear: each.adjusted < CHANCE, p: each.p_value, when: `against ${before}`,
  }]));

/** Return a change in words: "down 8.0 percentage points since 7 November". */
export function saidChange({ size, low, high, isShare, clear, when }) {
  if (!clear) return `no clear change ${when}`;
  const amount = (number) => (isShare ? points(Math.abs(number)) : plain(Math.abs(number), 2));
  const [least, most] = [low, high].map((end) => (end === null ? null : amount(end))).sort((a, b) => Number(a) - Number(b));
  const ends = least === null ? "" : ` (${least} to ${most})`;
  return `${size > 0 ? "up" : "down"} ${amount(size)}${isShare ? " percentage points" : ""}${ends} ${when}`;
}

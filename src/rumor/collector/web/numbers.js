/** The dashboard's number formats. */

export const whole = (value) => new Intl.NumberFormat("en").format(value);
/** Return a count with its noun: "1 report", "2 reports". */
export const counted = (count, one) => `${whole(count)} ${one}${count === 1 ? "" : "s"}`;
export const share = (value, digits = 1) =>
  value === null ? "none" : new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
export const plain = (value, digits = 3) =>
  value === null ? "none" : new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(value);
/** Return a p-value as people read it: very small ones have a bound. */
export const pValue = (value) => (value !== null && value < 1e-4 ? "<0.0001" : plain(value, 2));

/** Return the number of decimals of a percentage that are significant under this standard error. */
export const decimals = (error) => (error > 0 ? Math.min(4, Math.max(0, Math.ceil(-Math.log10(error)) - 1)) : 1);
export const fixed = (value, error) => (value === null ? "none" : value.toFixed(error > 0 ? Math.min(9, Math.max(0, Math.ceil(-Math.log10(error)) + 1)) : 2));

export const interval = (low, high, show) => `${show(low)} to ${show(high)}`;
/** Return an interval beside its figure, which has the unit already. */
export const ends = (low, high, show) => interval(low, high, show).replaceAll("%", "");

/** Return a day as people say it: "7 November", with the year where it is not this one. */
export function day(text) {
  const date = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  const year = date.getUTCFullYear() === new Date().getUTCFullYear() ? {} : { year: "numeric" };
  return date.toLocaleDateString("en-GB", { day: "numeric", month: "long", ...year, timeZone: "UTC" });
}
/** Return a period FROM..TO as people say it: "7 November to 13 November", or its only day. */
const periodSaid = (period) => [...new Set(period.split(".."))].map(day).join(" to ");
/** Return a sentence with its days and periods as people say them. */
export const daysSaid = (text) => text.replace(/\b\d{4}-\d\d-\d\d(\.\.\d{4}-\d\d-\d\d)?\b/g, periodSaid);

/** Return a difference of shares in percentage points. */
export const points = (value, digits = 1) => (100 * value).toFixed(digits);

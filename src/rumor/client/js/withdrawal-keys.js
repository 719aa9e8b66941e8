/**
 * The keys that withdraw a device's reports (the state's `sent`). A report's id is a hash of its key, so that whoever sees
 * the id cannot withdraw the report. A key is kept until it was used, or until the question's retention is over.
 */

import { fromHex, toHex, utf8 } from "./bytes.js";
import { sha256 } from "./host.js";

const DAY = 86_400_000;
const isHex = (value) => typeof value === "string" && /^([0-9a-f]{2}){16}$/.test(value);

/** Return the id of the report with this withdrawal key, both in hexadecimal. */
export async function reportId(key) {
  return toHex((await sha256(utf8("rumor report id"), fromHex(key))).slice(0, 16));
}

/** Return whether `rows` are valid withdrawal keys; undefined in ledgers of older versions. */
export const areWithdrawalKeys = (rows) =>
  rows === undefined || (Array.isArray(rows) && rows.every((row) =>
    isHex(row?.id) && typeof row.key === "string" && (isHex(row.key) || isHex(row.key.slice(64))) && [row.series, row.contract, row.question].every((text) => typeof text === "string") &&
    Number.isInteger(row.number) && (row.retention === null || Number.isInteger(row.retention)) &&
    (row.until === null || Number.isFinite(row.until)) && typeof (row.collector ?? "") === "string"));

/** Store the withdrawal key of a new report. */
export function keepWithdrawalKey(state, made) {
  (state.sent ??= []).push({ ...made, until: null });
}

/** Store with a withdrawal key the origin that its contract came from: it is sent nowhere else. */
export function noteCollector(state, id, collector) {
  if (collector) withdrawalKeyOf(state, id).collector = collector;
}

/**
 * Note that the reports `ids` arrived, at `origin` if they were sent to the collector directly. Their retention starts now;
 * keys past their retention are deleted.
 */
export function noteArrival(state, ids, origin, now) {
  const today = Math.floor(now / DAY);
  for (const row of state.sent ?? []) {
    // One day more than the collector's retention, since the two clocks may be in different days.
    if (ids.has(row.id) && row.retention !== null) row.until = today + row.retention + 1;
    if (ids.has(row.id) && origin) row.collector = origin;
  }
  state.sent = (state.sent ?? []).filter(({ until }) => until === null || until >= today);
}

/** Return the withdrawal key (a row) of the report with this id. */
export const withdrawalKeyOf = (state, id) => (state.sent ?? []).find((row) => row.id === id);

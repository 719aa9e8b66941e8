/**
 * What a device keeps of the reports that it made: the keys that take them back. A report is named
 * by a hash of its key, so that whoever sees the name cannot take it back. Keys are kept until
 * they have done their work, or the retention of the question is over.
 */

import { concat, fromHex, toHex, utf8 } from "./bytes.js";
import { subtle } from "./randomness.js";

const DAY = 86_400_000;
const isHex = (value) => typeof value === "string" && /^([0-9a-f]{2}){16}$/.test(value);

/** The id of the report with this key, both in hexadecimal. */
export async function reportId(key) {
  const digest = await subtle().digest("SHA-256", concat(utf8("rumor report id"), fromHex(key)));
  return toHex(new Uint8Array(digest).slice(0, 16));
}

/** Whether what was kept of sent reports is whole; a ledger from before has nothing of it. */
export const areWithdrawalKeys = (rows) =>
  rows === undefined || (Array.isArray(rows) && rows.every((row) =>
    isHex(row?.id) && typeof row.key === "string" && (isHex(row.key) || isHex(row.key.slice(64))) && [row.series, row.contract, row.question].every((text) => typeof text === "string") &&
    Number.isInteger(row.number) && (row.retention === null || Number.isInteger(row.retention)) &&
    (row.until === null || Number.isFinite(row.until)) && typeof (row.collector ?? "") === "string"));

/** Keep the key of a new report. */
export function keepWithdrawalKey(state, made) {
  (state.sent ??= []).push({ ...made, until: null });
}

/** The origin of a collector's address, which may be relative to the page; empty where it has none. */
export function originOf(base) {
  try {
    return new URL(`${base}/`, globalThis.location?.href).origin;
  } catch {
    return "";
  }
}

/** Note at which origin the contract of a new report was met (`collector`): its key goes nowhere else. */
export function noteCollector(state, id, collector) {
  if (collector) withdrawalKeyOf(state, id).collector = collector;
}

/**
 * Note that reports have arrived, from when retention counts, and at which `origin`, where they went to their
 * collector themselves; and forget what is past it.
 */
export function noteArrival(state, ids, origin, now = Date.now()) {
  const today = Math.floor(now / DAY);
  for (const row of state.sent ?? []) {
    // A day more than the collector keeps it: its clock may be in another day.
    if (ids.has(row.id) && row.retention !== null) row.until = today + row.retention + 1;
    if (ids.has(row.id) && origin) row.collector = origin;
  }
  state.sent = (state.sent ?? []).filter(({ until }) => until === null || until >= today);
}

/** The report with this id. */
export const withdrawalKeyOf = (state, id) => (state.sent ?? []).find((row) => row.id === id);

/**
 * What a store keeps of a person: plain data. A state of version 1 is read as one of version 2:
 * its rows are of answers that were keyed otherwise, so each stays charged on its own, and no new
 * report is ever added to one of them.
 */

import { toHex } from "./bytes.js";
import { RumorError } from "./errors.js";
import { wholeSent } from "./sent.js";

const VERSION = 2;

/** A new ledger with a new secret. */
export const newState = () =>
  ({ rumor: VERSION, secret: randomHex(32), answers: [], mechanisms: [], pins: [], pending: [] });

/** Random bytes in hexadecimal. */
export const randomHex = (size) => toHex(crypto.getRandomValues(new Uint8Array(size)));

const hex = (value, size = "*") => typeof value === "string" && RegExp(`^([0-9a-f]{2})${size}$`).test(value);
const texts = (...values) => values.every((value) => typeof value === "string");
const count = (value) => Number.isInteger(value) && value > 0;
const hour = (value) => Number.isSafeInteger(value) && value >= 0;
const loss = (value) => Number.isFinite(value) && value >= 0;
const each = (list, whole) => Array.isArray(list) && list.every((row) => row && typeof row === "object" && whole(row));

const pending = (row) =>
  texts(row.series, row.contract, row.question) && hex(row.id, "{16}") && hex(row.report) &&
  (row.token === undefined || hex(row.token, "{16}") || hex(row.token, "{320}")) &&
  (row.relay === undefined || (texts(row.relay) && hex(row.sealed))) &&
  (row.turn === undefined || (hour(row.turn) && hour(row.expires)));
const spending = (row) =>
  texts(row.series, row.question) && count(row.round) && hex(row.epoch) && hex(row.tag) && loss(row.epsilon);

const WHOLE = {
  1: (state) =>
    each(state.spending, (row) => spending(row) && texts(row.mechanism) && count(row.reports)) &&
    each(state.pending, pending),
  2: (state) =>
    each(state.answers, (row) =>
      spending(row) && texts(row.cell, row.period) && (row.settled === undefined || hex(row.settled)) &&
      each(row.made, (one) => texts(one.mechanism) && count(one.reports))) &&
    each(state.mechanisms, (row) => texts(row.digest, row.description?.name)) &&
    each(state.pins, (row) => texts(row.series, row.contract, row.agreed) && count(row.revision) && loss(row.ceiling) && typeof (row.way ?? {}) === "object") &&
    each(state.pending, pending) &&
    // What was drawn of many questions and days; a ledger from before has nothing of it.
    each(state.asked ?? [], (row) => texts(row.series, row.contract ?? "", row.question)) &&
    each(state.days ?? [], (row) =>
      texts(row.series, row.contract ?? "", row.starts, row.met ?? "", row.day) && count(row.days)) &&
    each(state.answered ?? [], (row) => texts(row.contract, row.scope)) &&
    each(state.turns ?? [], (row) => texts(row.series, row.question) && hour(row.ends)) &&
    each(state.tokens ?? [], ({ number, ...row }) => hour(number) && Object.values(row).every((value) => hex(value))),
};

/** What a store kept, in its newest form, or the sentence that says that it is damaged. */
export function checkedState(state) {
  const version = state?.rumor;
  if (Number.isInteger(version) && Object.hasOwn(WHOLE, version) && hex(state.secret, "{32}") && wholeSent(state.sent) && WHOLE[version](state)) {
    return version === VERSION ? state : migrated(state);
  }
  // The sentence shows nothing of it: it may hold the secret.
  throw new RumorError("state", "a person's ledger must be intact and of version 1 or 2; the one in this storage is not");
}

function migrated({ secret, spending, pending, sent = [] }) {
  const answers = spending.map(({ mechanism, reports, epsilon, ...row }) => ({
    ...row,
    cell: `version 1: ${mechanism}`,
    period: "",
    // The cost of several reports was rounded to the nearest, after a few steps in doubles.
    epsilon: reports > 1 ? epsilon * (1 + 1e-12) : epsilon,
    made: [{ mechanism, reports }],
  }));
  return { ...newState(), secret, answers, pending, sent };
}

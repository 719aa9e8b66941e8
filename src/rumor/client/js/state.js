/**
 * The state that a store keeps of a respondent: plain data. A state of version 1 is migrated to version 2. Its rows are of
 * answers that were keyed in another way, so they stay charged, and no new report is ever added to one of them.
 */

import { toHex } from "./bytes.js";
import { RumorError } from "./errors.js";
import { randomBytes } from "./host.js";
import { areWithdrawalKeys } from "./withdrawal-keys.js";

const VERSION = 2;

/** Return a new ledger with a new secret. */
export const newState = () =>
  ({ rumor: VERSION, secret: randomHex(32), answers: [], mechanisms: [], pins: [], pending: [] });

/** Return random bytes in hexadecimal. */
export const randomHex = (size) => toHex(randomBytes(size));

const isHex = (value, size = "*") => typeof value === "string" && RegExp(`^([0-9a-f]{2})${size}$`).test(value);
const areTexts = (...values) => values.every((value) => typeof value === "string");
const isCount = (value) => Number.isInteger(value) && value > 0;
const isHour = (value) => Number.isSafeInteger(value) && value >= 0;
const isLoss = (value) => Number.isFinite(value) && value >= 0;
const isListOf = (list, isValid) => Array.isArray(list) && list.every((row) => row && typeof row === "object" && isValid(row));

const isPendingRow = (row) =>
  areTexts(row.series, row.contract, row.question) && isHex(row.id, "{16}") && isHex(row.report) &&
  (row.token === undefined || isHex(row.token, "{16}") || isHex(row.token, "{320}")) &&
  (row.relay === undefined || (areTexts(row.relay) && isHex(row.sealed))) &&
  (row.turn === undefined || (isHour(row.turn) && isHour(row.expires))) &&
  (row.stratum === undefined || isHour(row.stratum));
const isSpendingRow = (row) =>
  areTexts(row.series, row.question) && isCount(row.round) && isHex(row.epoch) && isHex(row.tag) && isLoss(row.epsilon);

const IS_VALID = {
  1: (state) =>
    isListOf(state.spending, (row) => isSpendingRow(row) && areTexts(row.mechanism) && isCount(row.reports)) &&
    isListOf(state.pending, isPendingRow),
  2: (state) =>
    isListOf(state.answers, (row) =>
      isSpendingRow(row) && areTexts(row.cell, row.period) && (row.settled === undefined || isHex(row.settled)) &&
      isListOf(row.made, (one) => areTexts(one.mechanism) && isCount(one.reports))) &&
    isListOf(state.mechanisms, (row) => areTexts(row.digest, row.description?.name)) &&
    isListOf(state.pins, (row) => areTexts(row.series, row.contract, row.agreed) && isCount(row.revision) && isLoss(row.ceiling) && typeof (row.way ?? {}) === "object") &&
    isListOf(state.pending, isPendingRow) &&
    // Assignments and the rows below are absent in ledgers of older versions.
    isListOf(state.asked ?? [], (row) => areTexts(row.series, row.contract ?? "", row.question)) &&
    isListOf(state.days ?? [], (row) =>
      areTexts(row.series, row.contract ?? "", row.starts, row.met ?? "", row.day) && isCount(row.days)) &&
    isListOf(state.answered ?? [], (row) => areTexts(row.contract, row.scope)) &&
    isListOf(state.turns ?? [], (row) => areTexts(row.series, row.question) && isHour(row.ends)) &&
    isListOf(state.tokens ?? [], ({ number, ...row }) => isHour(number) && Object.values(row).every((value) => isHex(value))),
};

/** Return a stored state in the present version; throw where it is damaged. */
export function checkedState(state) {
  const version = state?.rumor;
  if (Number.isInteger(version) && Object.hasOwn(IS_VALID, version) && isHex(state.secret, "{32}") && areWithdrawalKeys(state.sent) && IS_VALID[version](state)) {
    return version === VERSION ? state : migrate(state);
  }
  // The message shows nothing of the state, which may hold the secret.
  throw new RumorError("state", "a person's ledger must be intact and of version 1 or 2; the one in this storage is not");
}

function migrate({ secret, spending, pending, sent = [] }) {
  const answers = spending.map(({ mechanism, reports, epsilon, ...row }) => ({
    ...row,
    cell: `version 1: ${mechanism}`,
    period: "",
    // Version 1 rounded the loss of several reports to the nearest double; this bounds it from above.
    epsilon: reports > 1 ? epsilon * (1 + 1e-12) : epsilon,
    made: [{ mechanism, reports }],
  }));
  return { ...newState(), secret, answers, pending, sent };
}

/** A store in memory, lost with the page: for tests, and for programs that keep the state themselves. */
export class MemoryStore {
  #kept;
  #turn = Promise.resolve();

  constructor(state = null) {
    this.#kept = JSON.stringify(state);
  }

  /** Return the stored state as JSON. */
  toString() {
    return this.#kept;
  }

  load() {
    return this.#kept;
  }

  save(text) {
    this.#kept = text;
  }

  transaction(work) {
    const done = this.#turn.then(async () => {
      const { state, result } = await work(JSON.parse(await this.load()));
      if (state !== undefined) await this.save(JSON.stringify(state));
      return result;
    });
    this.#turn = done.catch(() => {});
    return done;
  }
}

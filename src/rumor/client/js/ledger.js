/**
 * What was reported, what it cost, what still has to be sent: plain data that a store keeps.
 * No true value is ever written, only keyed tags that tell a repeated value from a new one.
 */

import { toHex } from "./bytes.js";
import { digestOf } from "./canonical.js";
import { epsilonAfter, mechanismOf } from "./contract.js";
import { RumorError } from "./errors.js";
import { keepKey, reportId, wholeSent } from "./sent.js";

/** A new ledger with a new secret. */
export const newState = () => ({ rumor: 1, secret: randomHex(32), spending: [], pending: [] });

/** Random bytes in hexadecimal. */
export const randomHex = (size) => toHex(crypto.getRandomValues(new Uint8Array(size)));

const hex = (value, size = "*") => typeof value === "string" && RegExp(`^([0-9a-f]{2})${size}$`).test(value);
const texts = (...values) => values.every((value) => typeof value === "string");

/** What a store kept, or the sentence that says that it is damaged. */
export function checkedState(state) {
  const whole =
    state?.rumor === 1 && hex(state.secret, "{32}") &&
    Array.isArray(state.spending) && Array.isArray(state.pending) &&
    state.spending.every((row) =>
      texts(row?.series, row?.question, row?.mechanism) && hex(row.epoch) && hex(row.tag) &&
      Number.isInteger(row.round) && Number.isInteger(row.reports) && row.reports > 0 &&
      Number.isFinite(row.epsilon) && row.epsilon >= 0) &&
    wholeSent(state.sent) &&
    state.pending.every((row) =>
      texts(row?.series, row?.contract, row?.question) && hex(row.id, "{16}") && hex(row.report) &&
      (row.token === undefined || hex(row.token, "{16}")));
  if (whole) return state;
  // The sentence shows nothing of it: it may hold the secret.
  throw new RumorError("state", "a person's ledger must be intact and of version 1; the one in this storage is not");
}

const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);

/** What all reports have cost together, at worst. */
export const totalSpent = (state) => sum(state.spending, "epsilon");

/** What each question has cost, all its rounds together. */
export function spendingOf(state) {
  const name = ({ series, question }) => JSON.stringify([series, question]);
  return [...new Set(state.spending.map(name))].sort().map((group) => {
    const rows = state.spending.filter((row) => name(row) === group);
    const [series, question] = JSON.parse(group);
    const values = new Set(rows.map(({ tag }) => tag)).size;
    return { series, question, reports: sum(rows, "reports"), values, epsilon: sum(rows, "epsilon") };
  });
}

/**
 * Charge one report and keep its bytes, in place; refuse past a limit.
 * @returns {Promise<object>} the envelope, as it is kept
 */
export async function debit(state, contract, question, { tag, epoch, report, maxEpsilon, token }) {
  const { round = 1, rounds = 1 } = mechanismOf(question);
  const { series } = contract;
  const limit = question.reports_per_person;
  const ours = state.spending.filter((row) => row.series === series && row.question === question.id);
  const reportsIn = (number) => sum(ours.filter((row) => row.round === number), "reports");
  if (round > 1 && !reportsIn(round - 1)) {
    throw new RumorError(
      "limit",
      `rounds must be answered in order; question '${question.id}' is in round ${round}, ` +
        `and this device has not answered round ${round - 1}`,
    );
  }
  const done = reportsIn(round);
  const made = sum(ours, "reports");
  const admits = await token?.(made);
  if (done >= limit) {
    const which = `${rounds > 1 ? `round ${round} of question` : "question"} '${question.id}'`;
    const most = `${limit} report${limit > 1 ? "s" : ""}`;
    throw new RumorError("limit", `${which} takes at most ${most} of a person; got ${done} already`);
  }
  const mechanism = await digestOf(question.mechanism);
  const key = { series, question: question.id, round, mechanism, epoch, tag };
  const known = ours.find((row) => Object.keys(key).every((name) => row[name] === key[name]));
  const row = known ?? { ...key, reports: 0, epsilon: 0 };
  const reports = row.reports + 1;
  // For one report the contract's own epsilon, which is exact and rounded up.
  const cost = epsilonAfter(question, reports);
  const spent = totalSpent(state);
  const after = spent - row.epsilon + cost;
  if (maxEpsilon !== undefined && after > maxEpsilon) {
    throw new RumorError(
      "limit",
      `a device may spend at most epsilon ${maxEpsilon} in all; it has spent ${short(spent)}, ` +
        `and this report would make it ${short(after)}`,
    );
  }
  if (!known) state.spending.push(row);
  Object.assign(row, { reports, epsilon: cost });
  const names = { series, contract: contract.digest, question: question.id };
  const takesBack = randomHex(16);
  const id = await reportId(takesBack);
  keepKey(state, { id, key: takesBack, ...names, number: made, retention: question.retention_days });
  const envelope = { id, ...names, report: toHex(report), ...(admits && { token: admits }) };
  state.pending.push(envelope);
  return envelope;
}

const short = (number) => Number(number.toPrecision(4));

/**
 * What was reported, what it cost, what still has to be sent. One row is one permanent answer: of a
 * question, under everything public that turns a value into its answer (the cell), of one of the
 * person's values or of one period. What the reports of a row cost together the mechanism knows; rows are
 * independent, and add up. No true value is ever written, only keyed tags that tell a repeated value
 * from a new one, and the permanent answer of a period.
 */

import { toHex } from "./bytes.js";
import { digestOf } from "./canonical.js";
import { RumorError } from "./errors.js";
import { exceeds, sumUp } from "./exact.js";
import { makeMechanism } from "./mechanisms.js";
import { reportsInScope, noteShared } from "./pins.js";
import { keepWithdrawalKey, reportId } from "./withdrawal-keys.js";
import { randomHex } from "./state.js";

const KEYS = ["series", "question", "round", "cell", "epoch", "period", "tag"];

/** A report would cost more than the series may. */
export class CeilingError extends RumorError {
  constructor(series, spent, after, ceiling) {
    super(
      "limit",
      `this device lets '${series}' cost at most epsilon ${roundForDisplay(ceiling, 6)}, as was agreed at its ` +
        `first answer; it has cost ${roundForDisplay(spent)}, and this report would make it ${roundForDisplay(after)}`,
    );
    Object.assign(this, { spent, after });
  }
}

const countReports = (rows) => rows.flatMap(({ made }) => made).reduce((sum, { reports }) => sum + reports, 0);
const losses = (rows) => rows.map(({ epsilon }) => epsilon);
const rowsOfSeries = (state, series) => state.answers.filter((row) => row.series === series);

/** What all reports have cost together, at worst. */
export const totalSpent = (state) => sumUp(losses(state.answers));

/** What the reports that count as a scope's have cost in each row. */
async function scopeLosses(state, scope) {
  const found = [];
  for (const row of rowsOfSeries(state, scope.series)) {
    if (row.shares) found.push(await composedLoss(state, reportsInScope(row, scope)));
    else if (scope.names.includes(scope.series)) found.push(row.epsilon);
  }
  return found;
}

/** What the reports of a scope have cost together, at worst. */
export const spentOn = async (state, scope) => sumUp(await scopeLosses(state, scope));

/** What each question has cost, all its rounds together. */
export function spendingOf(state) {
  const name = ({ series, question }) => JSON.stringify([series, question]);
  return [...new Set(state.answers.map(name))].sort().map((group) => {
    const rows = state.answers.filter((row) => name(row) === group);
    const [series, question] = JSON.parse(group);
    const values = new Set(rows.map(({ period, tag }) => `${period} ${tag}`)).size;
    return { series, question, reports: countReports(rows), values, epsilon: sumUp(losses(rows)) };
  });
}

/** Hold a series to this from now on, in place; note in which scope contracts were answered first. */
export function setPin(state, pin) {
  const answered = (state.answered ??= []);
  // Of all pins: a page of an older version moves them alone.
  for (const { series: scope, ...one } of [...state.pins, pin]) {
    for (const contract of [one.contract, one.agreed]) {
      if (!answered.some((row) => row.contract === contract)) answered.push({ contract, scope });
    }
  }
  state.pins = [...state.pins.filter(({ series }) => series !== pin.series), pin];
}

/** The row of a permanent answer, where reports of it were made. */
export const findRow = (state, key) => state.answers.find((row) => KEYS.every((name) => row[name] === key[name]));

/**
 * Charge one report and keep its bytes, in place; refuse past a limit.
 * @param {object} state
 * @param {object} made the `key` of its row; `question` and `mechanism`; `report`, `contract` (a digest) and,
 *   where the row must keep it, `settled`; whose series it is, `scope`
 * @param {{ series: number, device?: number }} ceilings what may be spent at most
 * @param {(number: number) => Promise<any>} [token] what admits the person's report of a number
 * @param {(row: object) => Promise<object>} [seal] its envelope, where there is a relay
 * @returns {Promise<object>} the envelope, as it is kept
 */
export async function debit(state, { key, question, mechanism, report, contract, settled, scope }, ceilings, token, seal) {
  const ours = rowsOfSeries(state, key.series)
    .filter((row) => row.question === key.question)
    .map((row) => ({ ...row, made: reportsInScope(row, scope) }));
  checkTurn(ours, key, question.reports_per_person, mechanism.rounds);
  const kind = await digestOf(question.mechanism);
  const known = findRow(state, key);
  const row = known ?? { ...key, ...(settled && { settled: toHex(settled) }), epsilon: 0, made: [] };
  const made = addReport(row.made, kind);
  const before = reportsInScope(row, scope);
  if (!state.mechanisms.some(({ digest }) => digest === kind)) {
    state.mechanisms.push({ digest: kind, description: question.mechanism });
  }
  const cost = await composedLoss(state, made);
  await checkSeries(state, scope, before, addReport(before, kind), ceilings.series);
  checkDevice(state, row.epsilon, cost, ceilings.device);
  const earlier = countReports(ours);
  const admits = await token?.(earlier);
  if (!known) state.answers.push(row);
  Object.assign(row, { epsilon: cost, made });
  noteShared(row, scope, kind);
  const names = { series: key.series, contract, question: key.question };
  const takesBack = admits?.key ?? randomHex(16);
  const id = admits?.id ?? (await reportId(takesBack));
  // A signed token takes back what is still at a relay.
  const signed = seal && admits?.id && { token: admits.token };
  keepWithdrawalKey(state, { id, key: takesBack, ...names, number: earlier, retention: question.retention_days, ...signed });
  const elsewhere = scope.name !== key.series && { scope: scope.name };
  const envelope = { id, ...names, ...elsewhere, report: toHex(report), ...(admits && { token: admits.token }) };
  // Sealed once: who sends it again sends the same bytes, and nobody counts two.
  Object.assign(envelope, await seal?.(envelope));
  state.pending.push(envelope);
  return envelope;
}

/** What reports of one row cost together, by the mechanisms that made them. */
async function composedLoss(state, made) {
  const described = ({ mechanism }) => state.mechanisms.find(({ digest }) => digest === mechanism)?.description;
  const loaded = await Promise.all(made.map(async (one) => [await makeMechanism(described(one)), one.reports]));
  return loaded.length ? loaded[0][0].epsilonComposed(loaded) : 0;
}

/** The mechanisms of reports with one more by one of them, which comes last. */
function addReport(made, kind) {
  const reports = 1 + (made.find((one) => one.mechanism === kind)?.reports ?? 0);
  return [...made.filter((one) => one.mechanism !== kind), { mechanism: kind, reports }];
}

/** Refuse a report out of turn, or one more than a person is asked for. */
function checkTurn(rows, { question, round }, limit, rounds) {
  const reportsIn = (number) => countReports(rows.filter((row) => row.round === number));
  if (round > 1 && !reportsIn(round - 1)) {
    throw new RumorError(
      "limit",
      `rounds must be answered in order; question '${question}' is in round ${round}, ` +
        `and this device has not answered round ${round - 1}`,
    );
  }
  const made = reportsIn(round);
  if (made >= limit) {
    const which = `${rounds > 1 ? `round ${round} of question` : "question"} '${question}'`;
    const most = `${limit} report${limit > 1 ? "s" : ""}`;
    throw new RumorError("limit", `${which} takes at most ${most} of a person; got ${made} already`);
  }
}

/** Refuse what would make a collector's series cost more than it may; exactly. */
async function checkSeries(state, scope, before, after, ceiling) {
  const own = await scopeLosses(state, scope);
  const change = [-(await composedLoss(state, before)), await composedLoss(state, after)];
  if (exceeds([...own, ...change], ceiling)) {
    throw new CeilingError(scope.series, sumUp(own), sumUp([...own, ...change]), ceiling);
  }
}

/** Refuse what would make the device cost more than it may; exactly. */
function checkDevice(state, before, cost, device) {
  const all = losses(state.answers);
  if (device !== undefined && exceeds([...all, -before, cost], device)) {
    throw new RumorError(
      "limit",
      `a device may spend at most epsilon ${device} in all; it has spent ${roundForDisplay(sumUp(all))}, ` +
        `and this report would make it ${roundForDisplay(sumUp([...all, -before, cost]))}`,
    );
  }
}

function roundForDisplay(number, digits = 4) {
  return Number(number.toPrecision(digits));
}

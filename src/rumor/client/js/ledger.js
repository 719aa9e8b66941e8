/**
 * The ledger. A row is one permanent answer: a question, memo digest (`cell`), and the value's tag or the period. The mechanism
 * composes the loss of a row's reports; rows are independent, so their losses add up. True values are never stored, only keyed
 * tags that distinguish repeated values from new ones, and the permanent answer of a period.
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

/** A report would exceed the limit of its series. */
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

/** Return the epsilon of all reports together, at most. */
export const totalSpent = (state) => sumUp(losses(state.answers));

/** Return, for each row, the epsilon of the reports that count for `scope`. */
async function scopeLosses(state, scope) {
  const found = [];
  for (const row of rowsOfSeries(state, scope.series)) {
    if (row.shares) found.push(await composedLoss(state, reportsInScope(row, scope)));
    else if (scope.names.includes(scope.series)) found.push(row.epsilon);
  }
  return found;
}

/** Return the epsilon of all reports that count for `scope` together, at most. */
export const spentOn = async (state, scope) => sumUp(await scopeLosses(state, scope));

/** Return the privacy loss of each question, all its rounds together. */
export function spendingOf(state) {
  const name = ({ series, question }) => JSON.stringify([series, question]);
  return [...new Set(state.answers.map(name))].sort().map((group) => {
    const rows = state.answers.filter((row) => name(row) === group);
    const [series, question] = JSON.parse(group);
    const values = new Set(rows.map(({ period, tag }) => `${period} ${tag}`)).size;
    return { series, question, reports: countReports(rows), values, epsilon: sumUp(losses(rows)) };
  });
}

/** Store the pin of a scope, in place, and the scope in which each contract was answered first. */
export function setPin(state, pin) {
  const answered = (state.answered ??= []);
  // For all pins, since a page of an older version updates pins without this list.
  for (const { series: scope, ...one } of [...state.pins, pin]) {
    for (const contract of [one.contract, one.agreed]) {
      if (!answered.some((row) => row.contract === contract)) answered.push({ contract, scope });
    }
  }
  state.pins = [...state.pins.filter(({ series }) => series !== pin.series), pin];
}

/** Return the row of a permanent answer; undefined before its first report. */
export const findRow = (state, key) => state.answers.find((row) => KEYS.every((name) => row[name] === key[name]));

/**
 * Charge one report and store it as pending, in place; refuse it where it would exceed a limit. `contract` is a digest,
 * `settled` the permanent answer of a period, `stratum` the respondent's groups, `ceilings` the limits of series and device; `token` returns the admission token
 * of the n-th report, and `seal` seals it for a relay.
 */
export async function debit(state, { key, question, mechanism, report, contract, settled, scope, stratum }, ceilings, token, seal) {
  const ours = rowsOfSeries(state, key.series)
    .filter((row) => row.question === key.question)
    .map((row) => ({ ...row, made: reportsInScope(row, scope) }));
  checkRound(ours, key, question.reports_per_person, mechanism.rounds);
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
  const admission = await token?.(earlier);
  if (!known) state.answers.push(row);
  Object.assign(row, { epsilon: cost, made });
  noteShared(row, scope, kind);
  const names = { series: key.series, contract, question: key.question };
  const withdrawalKey = admission?.key ?? randomHex(16);
  const id = admission?.id ?? (await reportId(withdrawalKey));
  // A signed token is needed to withdraw a report that is still at the relay.
  const signed = seal && admission?.id && { token: admission.token };
  keepWithdrawalKey(state, { id, key: withdrawalKey, ...names, number: earlier, retention: question.retention_days, ...signed });
  const elsewhere = scope.name !== key.series && { scope: scope.name };
  const pending = { id, ...names, ...elsewhere, report: toHex(report), ...(admission && { token: admission.token }), ...(stratum !== undefined && { stratum }) };
  // Sealed once, so that retries send the same bytes and are counted once.
  Object.assign(pending, await seal?.(pending));
  state.pending.push(pending);
  return pending;
}

/** Return the composed loss of the reports of one row; `made` counts them by mechanism. */
async function composedLoss(state, made) {
  const described = ({ mechanism }) => state.mechanisms.find(({ digest }) => digest === mechanism)?.description;
  const loaded = await Promise.all(made.map(async (one) => [await makeMechanism(described(one)), one.reports]));
  return loaded.length ? loaded[0][0].epsilonComposed(loaded) : 0;
}

/** Return the counts of `made` with one more report by the mechanism `kind`, which comes last. */
function addReport(made, kind) {
  const reports = 1 + (made.find((one) => one.mechanism === kind)?.reports ?? 0);
  return [...made.filter((one) => one.mechanism !== kind), { mechanism: kind, reports }];
}

/** Refuse a report of a round out of order, or one more than `limit` per respondent. */
function checkRound(rows, { question, round }, limit, rounds) {
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

/** Refuse a report that would exceed the limit of its series, compared exactly. */
async function checkSeries(state, scope, before, after, ceiling) {
  const own = await scopeLosses(state, scope);
  const change = [-(await composedLoss(state, before)), await composedLoss(state, after)];
  if (exceeds([...own, ...change], ceiling)) {
    throw new CeilingError(scope.series, sumUp(own), sumUp([...own, ...change]), ceiling);
  }
}

/** Refuse a report that would exceed the limit of the device, compared exactly. */
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

/**
 * The assignment of a respondent under a sampling design: which questions, and on which day. It is drawn from the secret and
 * from public values, never from an answer, and stored in the ledger before anything is shown: opening again, refusing to
 * answer, a new secret and a revision of the contract all find the same questions. Rows are stored under the contract's
 * digest, and a revision that names that contract takes them over. Answering makes them the series' own, so a contract that
 * was only opened never changes the assignment of another one.
 */

import { fromHex, toHex } from "./bytes.js";
import { checkMembers, refuse, checkInteger } from "./checks.js";
import { RumorError } from "./errors.js";
import { mechanismOf } from "./contract.js";
import { nextPin, scopeOf } from "./pins.js";
import { Keyed } from "./randomness.js";

const DAY = 86_400_000;
const [FIRST, LAST] = ["1970-01-01", "2999-12-31"];
const KEYS = { questions: undefined, days: undefined, starts: undefined };

const formatDay = (number) => new Date(DAY * number).toISOString().slice(0, 10);

/** Return whether `value` is a day as contracts write it; another spelling would be another contract. */
const isDay = (value) =>
  typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value) && value >= FIRST && value <= LAST &&
  !Number.isNaN(Date.parse(value)) && new Date(value).toISOString().startsWith(value);

/** Check the sampling design `ask` of a contract. */
export function checkSamplingDesign(ask, questions) {
  const design = checkMembers("ask", ask, [], KEYS);
  if (design.questions === undefined && design.days === undefined) refuse("ask must say how many questions, or days, or both", ask);
  if (design.questions !== undefined) {
    checkInteger("questions of ask", design.questions, 1, questions.length);
    if (design.questions === questions.length) refuse("a contract leaves questions of ask out where all are asked", design.questions);
  }
  if (design.days !== undefined) checkInteger("days of ask", design.days, 2, 36525);
  else if (design.starts !== undefined) refuse("starts of ask goes with days, of which it is the first", design.starts);
  if (design.starts !== undefined && !isDay(design.starts)) {
    refuse(`starts of ask must be a day written YYYY-MM-DD, from ${FIRST} to ${LAST}`, design.starts);
  }
  for (const question of questions) checkSampledQuestion(design, question);
}

/** Refuse a question that cannot be sampled: one in rounds, or with `days` one that is asked repeatedly. */
function checkSampledQuestion({ days }, question) {
  const { rounds } = mechanismOf(question);
  if (rounds > 1) refuse("ask cannot go with a question in rounds, since each round is a collection of its own", question.id);
  if (days === undefined) return;
  const rule = (what) => `days of ask cannot go with ${what}, since a person answers on one day only`;
  if (question.memo === "period") refuse(rule("memo 'period'"), question.id);
  if (question.reports_per_person > 1) refuse(rule("reports_per_person above 1"), question.reports_per_person);
}

/**
 * Return the respondent's assignment under `contract`: as stored in `state`, or else drawn now and stored there.
 * @param {object} state
 * @param {import("./rumor.js").Contract} contract
 * @param {number} today the day, counted from 1970
 */
export async function drawAssignment(state, contract, today) {
  // These checks come before anything is drawn.
  const scope = scopeOf(state, contract);
  nextPin(scope, contract);
  if (contract.relay) (await import("./relay.js")).checkBatchSize(contract);
  const { ask, questions } = contract;
  const ids = questions.map(({ id }) => id);
  const mine = ask.questions === undefined ? ids : await drawQuestions(state, contract, ids, scope);
  const day = ask.days === undefined ? null : await drawDay(state, contract, today, scope);
  return {
    // In the contract's order, so that the order of the draw stays private.
    questions: ids.filter((id) => mine.includes(id)),
    total: ids.length,
    day,
    days: ask.days ?? null,
    open: day === null || day === formatDay(today),
  };
}

/** Make the assignment of an answered contract its scope's own, in place. */
export function keepAssignment(state, { series, digest }, { name: scope }) {
  for (const name of ["asked", "days"]) {
    for (const row of (state[name] ?? []).filter((one) => [series, scope].includes(one.series) && one.contract === digest)) {
      addRow(state, name, { ...row, series: scope, contract: "" });
    }
  }
}

/**
 * Return the stored rows that apply to a contract: first those of its scope (with an empty contract), then those of the
 * contract and of the one it revises. The latter are under the series name if the contract was opened before one of another
 * collector was answered.
 */
function storedRows(rows = [], { series, digest, previous }, { name }) {
  const of = (names, ...contracts) => rows.filter((row) => names.includes(row.series) && contracts.includes(row.contract ?? ""));
  return [...of([name], ""), ...of([name, series], digest, previous)];
}

/** Store a row, unless an equal one is stored. */
function addRow(state, name, row) {
  const same = ["series", "contract", "question", "days", "starts"];
  const rows = (state[name] ??= []);
  if (!rows.some((one) => same.every((key) => (one[key] ?? "") === (row[key] ?? "")))) rows.push(row);
}

async function drawQuestions(state, contract, ids, scope) {
  const { ask, series, digest } = contract;
  const secret = fromHex(state.secret);
  // Questions that were drawn stay assigned, whatever a revision adds.
  const drawn = new Set(storedRows(state.asked, contract, scope).map(({ question }) => question));
  const known = [...drawn].filter((id) => ids.includes(id));
  const ranks = new Map();
  for (const id of ids) ranks.set(id, toHex(await new Keyed(secret, "rumor asked question 1", series, id).digest()));
  const others = ids.filter((id) => !known.includes(id)).sort((a, b) => (ranks.get(a) < ranks.get(b) ? -1 : 1));
  const mine = [...known, ...others].slice(0, ask.questions);
  for (const question of mine) addRow(state, "asked", { series: scope.name, contract: digest, question });
  return mine;
}

async function drawDay(state, contract, today, scope) {
  const { series, digest, ask: { days, starts = "" } } = contract;
  const rows = storedRows(state.days, contract, scope);
  const own = rows.filter((row) => !row.contract);
  // Rows of older versions do not have the day on which the series was first seen.
  const met = own.length ? own[0].met ?? (own[0].starts || own[0].day) : formatDay(today);
  const first = Date.parse(starts || met) / DAY;
  // A day that was answered on stays, if it lies in the contract's window.
  const keptDay = own.find(({ day }) => Date.parse(day) / DAY >= first && Date.parse(day) / DAY < first + days);
  if (keptDay) return keptDay.day;
  const found = rows.find((row) => row.contract && row.days === days && row.starts === starts);
  const key = new Keyed(fromHex(state.secret), "rumor asked day 1", series, days);
  const day = found?.day ?? formatDay(first + (await key.draw((draws) => draws.below(days))));
  addRow(state, "days", { series, contract: digest, days, starts, met: found?.met ?? met, day });
  return day;
}

/** Refuse questions (`ids`) that are not assigned to this respondent, or not today; unknown ids are refused elsewhere. */
export function checkAssigned(assignment, ids, contract, today) {
  const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
  const known = contract.questions.map(({ id }) => id);
  for (const id of ids) {
    if (!known.includes(id) || assignment.questions.includes(id)) continue;
    const mine = assignment.questions.map((each) => `'${each}'`).join(", ");
    throw new RumorError(
      "asked",
      `this device is asked ${mine} alone, drawn at random from ${count(assignment.total)} questions; ` +
        `'${id}' was not drawn, and nothing is sent about it`,
    );
  }
  if (assignment.open) return;
  const date = formatDay(today);
  throw new RumorError(
    "asked",
    `this device answers on ${assignment.day}, drawn at random from ${count(assignment.days)} days; ` +
      `today is ${date} in UTC, so its day ${date > assignment.day ? "is over" : "has not come"}`,
  );
}

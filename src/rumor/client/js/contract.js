/** Reading contracts, which a device does not trust: it checks every member, and that epsilon follows from the thresholds. */

import { digestOf } from "./canonical.js";
import { checkMembers, refuse, checkInteger } from "./checks.js";
import { RumorError, formatValue } from "./errors.js";
import { sumOfLargest } from "./exact.js";
import { KINDS } from "./kinds.js";
import { originOf } from "./host.js";
import { makeMechanism } from "./mechanisms.js";
import { request } from "./transport.js";

const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Noncharacter_Code_Point}]/u;
const SLUG = /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/;
// Keys of an estimate's rows, which no part of a joint question may be called.
const RESULT_COLUMNS = ["frequency", "low", "high", "unbiased", "stderr", "ratio", "stratum", "count", "value"];
const DIGEST = /^[0-9a-f]{64}$/;
// A contract must omit a member that has its default, so that equal contracts have equal digests.
const DEFAULTS = { admission: "open", revision: 1, previous: null, series_epsilon: null, ask: null, linked: null, issuer: null, relay: null, groups: null };
const QUESTION_DEFAULTS = { memo: "value", period_days: null };

const mechanisms = new WeakMap();

/** Return the mechanism of a parsed contract's question. */
export function mechanismOf(question) {
  return mechanisms.get(question) ?? refuse("a question must come from a parsed contract", question);
}

/** Check a contract given as JSON (a text, or the result of JSON.parse), of an expected digest, from the origin `collector`. */
export async function parseContract(given, { digest, collector = "" } = {}) {
  const read = parseJson(given);
  const table = checkMembers("a contract", read, ["rumor", "name", "series", "contact", "questions"], DEFAULTS);
  if (table.rumor !== 1) refuse("a contract's version must be 1", table.rumor);
  for (const key of ["name", "contact"]) checkText(key, table[key]);
  checkPattern("series", table.series, SLUG);
  if (!Array.isArray(table.questions) || !table.questions.length) {
    refuse("a contract must have questions", table.questions);
  }
  const questions = await Promise.all(table.questions.map(readQuestion));
  if (new Set(questions.map(({ id }) => id)).size < questions.length) {
    refuse("question ids must be distinct", questions.map(({ id }) => id));
  }
  const fields = { ...DEFAULTS, ...table };
  checkOneOf("admission", fields.admission, ["open", "invited", "blind"]);
  checkRevision(fields);
  // Few contracts have these; only their pages load the modules.
  if (fields.ask !== null) (await import("./assignment.js")).checkSamplingDesign(fields.ask, questions);
  if (fields.linked !== null) (await import("./linked.js")).checkLinked(fields, questions);
  const blind = fields.issuer !== null || fields.admission === "blind";
  const issuer = blind ? (await import("./issuing.js")).readIssuer(fields, questions) : null;
  if (fields.relay !== null) await (await import("./relay.js")).checkRelay(fields.relay);
  const groups = fields.groups === null ? null : (await import("./groups.js")).readGroups(fields, questions);
  if (fields.series_epsilon !== null) checkCeiling(fields, questions);
  const found = await digestOf(table);
  if (digest !== undefined && digest !== found) {
    throw new RumorError("digest", `the contract must have the digest '${digest}'; got '${found}'`);
  }
  return Object.freeze({
    digest: found,
    name: table.name,
    series: table.series,
    contact: table.contact,
    collector,
    admission: fields.admission,
    revision: fields.revision,
    previous: fields.previous,
    series_epsilon: fields.series_epsilon,
    ask: fields.ask && Object.freeze({ ...fields.ask }),
    linked: fields.linked && Object.freeze([...fields.linked]),
    issuer,
    relay: fields.relay && Object.freeze({ ...fields.relay }),
    groups,
    questions: Object.freeze(questions),
    /** Return the question with this id. */
    question(id) {
      const ids = questions.map((question) => question.id);
      if (ids.includes(id)) return questions[ids.indexOf(id)];
      throw new RumorError("answer", `a question must be named as one of ${ids.join(", ")}; got another name`);
    },
  });
}

/** Fetch and check the contract that a collector serves (at /v1/collection), of an expected digest. */
export async function fetchContract(url, { digest } = {}) {
  const served = await request(url);
  const collector = originOf(url);
  const contract = await parseContract(served.contract, { digest, collector });
  if (served.digest !== contract.digest) {
    const rule = `a collector's contract must have the digest it says, '${String(served.digest).slice(0, 64)}'`;
    throw new RumorError("digest", `${rule}; this one has '${contract.digest}'`);
  }
  if (served.open !== true) {
    const name = formatValue(contract.name);
    throw new RumorError("closed", `a collection must be open to take answers; ${name} is closed`);
  }
  return contract;
}

/** Describe a report to the respondent; `question` is that of a parsed contract. */
export function describeReport(question, report) {
  const { caption, coins = null, parts, width } = mechanismOf(question);
  if (report.length !== width) refuse(`a report of this question must have ${width} bytes`, report.length);
  return { caption, coins: typeof coins === "function" ? coins(report) : coins, parts: parts(report) };
}

function parseJson(given) {
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given);
  } catch {
    return refuse("a contract must be valid JSON", given);
  }
}

async function readQuestion(given) {
  const kind = Object.hasOwn(KINDS, given?.kind) ? KINDS[given.kind] : null;
  if (!kind) refuse(`kind must be one of ${Object.keys(KINDS).join(", ")}`, given?.kind);
  const keys = ["id", "kind", "text", ...kind.contractFields, "epsilon", "mechanism", "reports_per_person", "retention_days"];
  const question = Object.freeze({ ...checkMembers("a contract's question", given, keys, QUESTION_DEFAULTS) });
  checkPattern("id", question.id, SLUG);
  checkText("text", question.text, true);
  const { labels = null, parts = null, parent = null, round = null, epsilon } = question;
  if (labels !== null) checkLabels(labels);
  if (round !== null && !(Array.isArray(round) && round.length && round.every((each) => Number.isFinite(each) && each > 0))) {
    refuse("round must be a list of numbers above 0 or null", round);
  }
  if (parts !== null) checkParts(parts);
  const mechanism = await makeMechanism(question.mechanism, labels ?? parts);
  if (mechanism.kind !== (kind.borrows ?? question.kind)) {
    refuse(`a question of kind ${question.kind} needs such a mechanism`, question.mechanism.name);
  }
  if (epsilon !== mechanism.epsilon) refuse(`a contract's epsilon must be its mechanism's, ${mechanism.epsilon}`, epsilon);
  if (mechanism.round > 1) checkPattern("parent", parent, DIGEST);
  else if (parent !== null) refuse("only a later round of PrivKVM has a parent", parent);
  const reports = checkInteger("reports_per_person", question.reports_per_person, 1, 1e6);
  if (mechanism.isOneTime && reports > 1) refuse("RAPPOR without permanent noise can be asked once", reports);
  if (question.retention_days !== null) checkInteger("retention_days", question.retention_days, 1, 36525);
  checkMemo({ ...QUESTION_DEFAULTS, ...question }, mechanism);
  mechanisms.set(question, mechanism);
  return question;
}

/** Check a list of labels. */
export function checkLabels(labels) {
  if (!Array.isArray(labels)) refuse("labels must be a list or null", labels);
  labels.forEach((label) => checkText("a label", label));
  if (FORBIDDEN_CHARACTERS.test(labels.join(""))) refuse("a label must be text without control characters", labels);
  if (new Set(labels).size < labels.length) refuse("labels must be distinct", labels);
}

/** Check the parts of a joint question: each has labels and a distinct id, which is no column of results. */
function checkParts(parts) {
  if (!Array.isArray(parts)) refuse("parts must be a list", parts);
  for (const part of parts) {
    checkPattern("the id of a part", checkMembers("a part", part, ["id", "labels"]).id, SLUG);
    checkLabels(part.labels);
  }
  const ids = parts.map(({ id }) => id);
  if (new Set(ids).size < ids.length) refuse("ids of parts must be distinct", parts);
  const taken = ids.find((id) => RESULT_COLUMNS.includes(id));
  if (taken !== undefined) refuse("a part must not be called as a column of results", taken);
}

/** Check what permanent answers are memoised by: the value, or the period. */
function checkMemo({ memo, period_days: days }, mechanism) {
  checkOneOf("memo", memo, ["value", "period"]);
  if (memo === "value") {
    if (days !== null) refuse("period_days goes with memo 'period'", days);
    return;
  }
  if (!mechanism.isMemoised) refuse("memo 'period' needs a mechanism with permanent noise", memo);
  checkInteger("period_days", days, 1, 36525);
}

/** Check that every revision but the first names the previous contract. */
function checkRevision({ revision, previous }) {
  checkInteger("revision", revision, 1, 1e6);
  if (revision > 1) checkPattern(`previous (in revision ${revision})`, previous, DIGEST);
  else if (previous !== null) refuse("revision 1 has no previous one", previous);
}

/** Check that the limit of the series lets every assigned question be answered at least once. */
function checkCeiling({ series_epsilon: ceiling, ask }, questions) {
  if (typeof ceiling !== "number" || !(ceiling > 0) || ceiling > 1e9) {
    refuse("series_epsilon must be a number above 0 and at most 1e9", ceiling);
  }
  const once = sumOfLargest(questions.map((question) => mechanismOf(question).epsilonAllRounds(1)), ask?.questions);
  if (ceiling < once) refuse(`series_epsilon must let every question that is asked be answered once, which costs ${once}`, ceiling);
}

function checkOneOf(name, value, choices) {
  if (!choices.includes(value)) refuse(`${name} must be one of ${choices.join(", ")}`, value);
}

function checkText(name, value, empty = false) {
  if (typeof value !== "string" || /\p{Surrogate}/u.test(value) || value !== value.normalize("NFC") || !(value || empty)) {
    refuse(`${name} must be a text in Unicode normal form C`, value);
  }
}

function checkPattern(name, value, pattern) {
  if (typeof value !== "string" || !pattern.test(value)) refuse(`${name} must match ${pattern.source}`, value);
}

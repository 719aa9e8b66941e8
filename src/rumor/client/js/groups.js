/** Groups that a contract has sent in the clear beside each report; loaded for such contracts alone. */

import { refuse } from "./checks.js";
import { checkLabels, mechanismOf } from "./contract.js";
import { RumorError } from "./errors.js";

/** The group of everything that a list does not name. */
export const OTHER = "other";

const MAX_STRATA = 1000;
const MAX_LETTERS = 200;
const NAME = /^[a-z][a-z0-9_]{0,63}$/;
const AROUND = /^\p{White_Space}|\p{White_Space}$/u;
// Columns of every reports file.
const TAKEN = ["id", "report", "day", "contract", "question"];

/** Return the names of the columns of `groups`, in order. */
export const namesOf = (groups) => Object.keys(groups).sort();

/** Return the number of combinations of `groups`. */
export const strataOf = (groups) => namesOf(groups).reduce((product, name) => product * groups[name].length, 1);

/** Return a column name with case, width and separators normalised, to find similar names. */
const normalized = (name) => name.normalize("NFKC").toUpperCase().toLowerCase().trim().replace(/[-_.\s]+/g, "-");

/** Return the columns of a table that hold answers to a question. */
const columnsOf = ({ id, labels, parts, kind }) => [
  id,
  ...(kind === "joint" ? parts.map((part) => part.id) : []),
  ...(kind === "set" || kind === "keyvalue" ? (labels ?? []) : []),
];

/** Return the `groups` of a contract, checked and frozen. */
export function readGroups({ groups, admission, relay }, questions) {
  const rule = "groups must be lists of groups by name";
  if (typeof groups !== "object" || Array.isArray(groups) || !Object.keys(groups).length) refuse(rule, groups);
  const answered = new Set(questions.flatMap(columnsOf).map(normalized));
  for (const name of namesOf(groups)) {
    if (!NAME.test(name)) refuse("a name of groups must be 1 to 64 lower-case letters, digits and underscores, a letter first", name);
    if (TAKEN.includes(name)) refuse("a name of groups must not be that of a column of reports files", name);
    if (answered.has(normalized(name))) refuse("groups are sent in the clear, so they must hold no answers", name);
    const list = groups[name];
    if (!Array.isArray(list)) refuse(`groups of '${name}' must be a list of texts`, list);
    checkLabels(list);
    if (list.length < 2 || !list.includes(OTHER)) refuse(`groups of '${name}' must be two or more with "other" among them`, list);
    const odd = list.find((label) => [...label].length > MAX_LETTERS || AROUND.test(label));
    if (odd !== undefined) refuse(`groups of '${name}' must have at most ${MAX_LETTERS} characters, no spaces around them`, odd);
  }
  const strata = strataOf(groups);
  if (strata > MAX_STRATA) refuse(`groups must have at most ${MAX_STRATA} combinations`, strata);
  if (relay !== null) refuse("groups cannot go with a relay", groups);
  if (admission === "blind") refuse("groups cannot go with blind admission", groups);
  const inRounds = questions.find((question) => mechanismOf(question).rounds > 1);
  if (inRounds) refuse("groups cannot go with a question in rounds", inRounds.id);
  return Object.freeze(Object.fromEntries(namesOf(groups).map((name) => [name, Object.freeze([...groups[name]])])));
}

/**
 * Return the number of a respondent's combination of groups; whatever is in no list is "other".
 * @param {Record<string, readonly string[]>} groups those of the contract
 * @param {Record<string, unknown>} given the respondent's, by name
 */
export function stratumOf(groups, given = {}) {
  const names = namesOf(groups);
  const odd = Object.keys(given).find((name) => !names.includes(name));
  if (odd !== undefined) throw new RumorError("answer", `groups must be named as one of ${names.join(", ")}; got another name`);
  return names.reduce((stratum, name) => {
    const list = groups[name];
    const mine = list.indexOf(String(given[name] ?? OTHER).normalize("NFC"));
    return stratum * list.length + (mine < 0 ? list.indexOf(OTHER) : mine);
  }, 0);
}

/** Linked questions: two whose reports of one respondent carry a common id, where a contract declares it. */

import { refuse } from "./checks.js";
import { mechanismOf } from "./contract.js";

const MAX_CELLS = 100;
/** Keys of the rows of a table of two questions, which no linked question may be called. */
const RESULT_COLUMNS = ["frequency", "low", "high", "unbiased", "stderr", "ratio", "stratum", "count", "value"];

/** Check the `linked` questions of a contract. */
export function checkLinked({ linked, ask }, questions) {
  const rule = "linked must be the ids of two questions";
  if (!Array.isArray(linked) || linked.length !== 2 || linked[0] === linked[1]) refuse(rule, linked);
  const found = linked.map((id) => questions.find((question) => question.id === id) ?? refuse(rule, id));
  for (const { id, mechanism, reports_per_person: reports } of found) {
    if (mechanism.name !== "randomized-response") refuse("linked questions must be choices by randomised response", mechanism.name);
    if (reports > 1) refuse("linked questions must be asked once", reports);
    if (RESULT_COLUMNS.includes(id)) refuse("a linked question must not be called as a column of results", id);
  }
  if (ask?.questions !== undefined) refuse("linked cannot go with questions of ask", ask.questions);
  const cells = found.reduce((product, question) => product * mechanismOf(question).domain, 1);
  if (cells > MAX_CELLS) refuse(`linked questions must make a table of at most ${MAX_CELLS} cells`, cells);
}

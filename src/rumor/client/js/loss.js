/** The privacy losses of questions and contracts for one respondent: exact, rounded up. */

import { mechanismOf } from "./contract.js";
import { sumOfLargest, totalUp } from "./exact.js";

/** Return the epsilon of this many reports of one unchanged answer together, in one round. */
export const epsilonAfter = (question, reports) => mechanismOf(question).epsilonAfter(reports);

/** Return the privacy losses of a question for one respondent. */
export function lossOf(question) {
  const { epsilonAllRounds, round, rounds } = mechanismOf(question);
  const reports = question.reports_per_person;
  const answer = epsilonAllRounds(1);
  return {
    /** Of one report. */
    report: question.epsilon,
    /** Of one answer: a report in this round and in each later one. */
    answer,
    /** Of all reports that may be asked for, if the answer stays the same. */
    unchanged: epsilonAllRounds(reports),
    /** Of all reports that may be asked for, if every answer (or period) is another one. */
    most: totalUp([[answer, reports]]),
    round,
    rounds,
  };
}

/** Return the privacy loss of a contract for one respondent: of the `drawn` questions, or else of the costliest that may be drawn. */
export function lossOfContract({ questions, series_epsilon: promised, ask }, drawn) {
  const mine = questions.filter(({ id }) => drawn?.includes(id) ?? true);
  const asked = sumOfLargest(mine.map((question) => lossOf(question).most), ask?.questions);
  return {
    /** The largest possible loss under this contract. */
    most: Math.min(asked, promised ?? Infinity),
    /** The limit that a device sets on the series when it answers this contract first. */
    // Slightly more than the sum, so that rounding never refuses an answer that the contract allows.
    ceiling: promised ?? asked * (1 + 2 ** -40),
  };
}

/** What a person spends: exact, rounded up, and the same wherever it is said. */

import { mechanismOf } from "./contract.js";
import { sumOfLargest, totalUp } from "./exact.js";

/** What so many reports of one unchanged answer cost together, in one round. */
export const epsilonAfter = (question, reports) => mechanismOf(question).epsilonAfter(reports);

/** What a question costs one person. */
export function lossOf(question) {
  const { epsilonAllRounds, round, rounds } = mechanismOf(question);
  const reports = question.reports_per_person;
  const answer = epsilonAllRounds(1);
  return {
    /** One report. */
    report: question.epsilon,
    /** One answer: a report in this round and in each that follows. */
    answer,
    /** As many answers as may be given, all of them the same. */
    unchanged: epsilonAllRounds(reports),
    /** As many answers as may be given, another one (or in another period) every time. */
    most: totalUp([[answer, reports]]),
    round,
    rounds,
  };
}

/**
 * What everything that a contract asks costs one person: where it asks some of its questions, those that
 * were `drawn`, or the sumOfLargest.
 */
export function lossOfContract({ questions, series_epsilon: promised, ask }, drawn) {
  const mine = questions.filter(({ id }) => drawn?.includes(id) ?? true);
  const asked = sumOfLargest(mine.map((question) => lossOf(question).most), ask?.questions);
  return {
    /** The most, as it stands. */
    most: Math.min(asked, promised ?? Infinity),
    /** What a device holds the whole series to when it meets this contract first. */
    // And a trifle: no rounding of what single answers cost may stop a person who keeps to the contract.
    ceiling: promised ?? asked * (1 + 2 ** -40),
  };
}

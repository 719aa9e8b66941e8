/** What a question costs, in words: how much better a guess can get. */

import { lossOf } from "../loss.js";
import { h } from "./dom.js";

/** A number as the language writes it. */
export const figure = (words, value, digits = 3) => new Intl.NumberFormat(words.tag, { maximumSignificantDigits: digits }).format(value);
export const percentage = (words, value) => new Intl.NumberFormat(words.tag, { style: "percent", maximumSignificantDigits: 3 }).format(value);
/** What a guess that is right half of the time becomes at most. */
export const belief = (epsilon) => 1 / (1 + Math.exp(-epsilon));

/** What a question costs: a sentence, and the belief that it allows at most. The first explains itself, others say what is different. */
export function oddsView(question, words, first) {
  const loss = lossOf(question);
  const sure = belief(loss.answer);
  const meter = h("div", { class: "belief", "aria-hidden": "true" },
    h("div", { class: "track" }, h("span", { class: "before" }), h("span", { class: "after" })),
    h("p", {}, h("span", {}, `${percentage(words, 0.5)} ${words.belief[0]}`), h("span", {}, `${percentage(words, sure)} ${words.belief[1]}`)));
  meter.style.setProperty("--belief", sure);
  return h("div", { class: "odds" }, h("p", {}, [oddsOf(loss, words, first), ...oftenOf(question, loss, words)].join(words.space)), meter);
}

/** What one answer costs, in all rounds that there are. */
function oddsOf({ answer, round, rounds }, words, first) {
  const [factor, sure, epsilon] = [figure(words, Math.exp(answer)), percentage(words, belief(answer)), figure(words, answer, 4)];
  if (rounds > 1) return words.oddsRounds(round, rounds, factor, sure, epsilon);
  return first ? words.odds(factor, sure, epsilon) : words.oddsAgain(sure, epsilon);
}

/** What being asked again costs, and which answer stands for how long. */
function oftenOf(question, { unchanged }, words) {
  const { reports_per_person: times, period_days: days } = question;
  const again = days ? words.repeatedPeriod : words.repeated;
  return [
    ...(times > 1 ? [again(figure(words, times, 9), percentage(words, belief(unchanged)))] : []),
    ...(days ? [words.period(days)] : []),
  ];
}

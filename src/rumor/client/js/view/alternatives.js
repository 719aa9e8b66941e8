/** Alternative answers of a report: how often each would lead to exactly this report. */

import { approximate } from "../checks.js";
import { mechanismOf } from "../contract.js";
import { lossOf } from "../loss.js";
import { h } from "./dom.js";
import { formatNumber, formatPercent } from "./report.js";

// The largest domain that is searched, and the most names that are shown.
const [CHEAP, NAMED] = [20_000, 12];

/**
 * Return the other answers in groups, by the ratio of each one's probability of exactly this report to that of `value` (to
 * that of the likeliest answer if `value` is undefined). Null where the mechanism has no list of answers, or a long one.
 * @returns {Promise<{ ratio: number, names: string[] }[] | null>} the likeliest first
 */
export async function plausibleAnswers(question, report, value) {
  const { supports, odds: [above, below] = [], domain = question.labels?.length, encode } = mechanismOf(question);
  if (!supports || !domain || domain > CHEAP) return null;
  const own = value === undefined ? null : await encode(value);
  const supported = supports(report);
  const groups = [above, below].map((weight) => ({ weight, names: [] }));
  for (let code = 0; code < domain; code++) {
    if (code !== own) groups[supported(code) ? 0 : 1].names.push(question.labels?.[code] ?? String(code));
  }
  const filled = groups.filter(({ names }) => names.length);
  const of = own === null ? filled[0].weight : supported(own) ? above : below;
  return filled.map(({ weight, names }) => ({ ratio: approximate(weight, of), names }));
}

/** Show the alternative answers of a report. */
export async function alternativesView({ question, value }, report, words) {
  const { alternatives } = words;
  const listed = (names) => {
    const some = names.slice(0, NAMED).join(alternatives.comma);
    return names.length > NAMED ? some + alternatives.more(formatNumber(words, names.length - NAMED, 9)) : some;
  };
  const often = (ratio) => {
    if (ratio === 1) return value === undefined ? alternatives.likeliest : alternatives.same;
    return ratio > 1 ? alternatives.times(formatNumber(words, ratio)) : (value === undefined ? alternatives.shareLikeliest : alternatives.share)(formatPercent(words, ratio));
  };
  const groups = (await plausibleAnswers(question, report, value)) ?? [];
  return [
    h("p", {}, alternatives.all(formatNumber(words, Math.exp(lossOf(question).report)))),
    groups.length ? h("dl", {}, groups.map(({ ratio, names }) => h("div", {}, h("dt", {}, often(ratio)), h("dd", { dir: "auto" }, listed(names))))) : null,
  ];
}

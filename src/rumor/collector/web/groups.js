/** The estimate in each group, side by side on one scale. */

import { h } from "/client/view/dom.js";
import { counted } from "./numbers.js";
import { panelOf } from "./panels.js";

const MOST = 12; // groups of a column
const ANSWERS = 6; // of a group

/** Return the columns of groups that can be shown, each with its largest groups. */
export const shownGroups = ({ groups = [] }) =>
  [...new Set(groups.map(({ name }) => name))].map((name) => {
    const all = groups.filter((each) => each.name === name && each.shown).sort((one, other) => other.reports - one.reports);
    return { name, all, groups: all.slice(0, MOST) };
  }).filter(({ groups: some }) => some.length > 1);

/**
 * Return the charts of the groups.
 * @param {any} question
 * @param {any} overall the estimate of everybody, whose first answers are shown
 * @param {{ name: string, all: any[], groups: any[] }[]} columns
 * @param {Map<string, any>} estimates by NAME=GROUP
 */
export function groupCharts(question, overall, columns, estimates) {
  const { charts, isList } = panelOf(question);
  const [chart] = Object.values(charts);
  const first = isList ? overall.estimates.slice(0, ANSWERS).map(({ value }) => value) : null;
  const part = (estimate) => (first ? { ...estimate, estimates: first.map((value) => estimate.estimates.find((row) => row.value === value)).filter(Boolean) } : estimate);
  const found = new Map([...estimates].map(([name, estimate]) => [name, part(estimate)]));
  const rows = [...found.values()].flatMap((estimate) => estimate.histogram ?? estimate.estimates);
  const most = Math.max(...rows.map(({ frequency = 0, high }) => high ?? frequency));
  return columns.map(({ name, all, groups }) => h("div", {},
    h("h3", {}, name),
    h("div", { class: "charts multiples" }, groups.map(({ group, reports }) =>
      h("div", {}, h("h4", { dir: "auto" }, group, h("span", { class: "soft" }, ` ${counted(reports, "report")}`)), chart(question, found.get(`${name}=${group}`), { most, isRanked: isList })))),
    all.length > groups.length && h("p", { class: "soft" }, `The ${counted(groups.length, "largest group")} of ${all.length}.`)));
}

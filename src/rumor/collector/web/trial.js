/** Twenty trial reports of an answer, none of them sent: they show how much of a report is noise. */

import { describeReport } from "/client/rumor.js";
import { drawTrialReports } from "/client/trial.js";
import { h } from "/client/view/dom.js";

const [TIMES, ROWS] = [20, 8];

/** Show a table of the reported contents with their counts. */
export async function trialView({ question, value }, { trial: words }) {
  const counts = new Map();
  for (const report of await drawTrialReports(question, value, TIMES)) {
    for (const said of saidBy(describeReport(question, report).parts)) counts.set(said, (counts.get(said) ?? 0) + 1);
  }
  const own = new Set([value].flat().map(String));
  const order = [...counts].sort(([a, x], [b, y]) => own.has(b) - own.has(a) || y - x);
  const row = ([said, count]) => {
    const bar = h("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * count) / TIMES}%`;
    return h("tr", {}, h("th", { scope: "row", dir: "auto" }, said, own.has(said) ? h("small", {}, ` ${words.yours}`) : null), h("td", {}, String(count)), h("td", {}, bar));
  };
  return h("div", { class: "trial" },
    h("p", { class: "soft" }, words.title),
    h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, words.what), h("th", { scope: "colgroup", colspan: 2 }, words.often))),
      h("tbody", {}, order.slice(0, ROWS).map(row))),
    order.length > ROWS ? h("p", { class: "soft" }, words.rest(order.length - ROWS)) : null);
}

/** Return the contents of a report: the labels whose bit is 1, or its parts as text. */
function saidBy(parts) {
  return parts.flatMap((part) => {
    if (part.kind !== "bits") return [`${part.value}`];
    return part.labels ? part.labels.filter((_, i) => part.value[i]) : [];
  });
}

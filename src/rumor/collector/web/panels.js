/** The dashboard's panels of a question: figures, alarms, remarks, tables and sentences. */

import { h } from "/client/view/dom.js";
import { Refused } from "./api.js";
import { validFor } from "./looks.js";
import { ROWS } from "./bars.js";
import { changesOf } from "./changes.js";
import { counted, day, daysSaid, decimals, pValue, plain, points, share, whole } from "./numbers.js";
import * as choice from "./kinds/choice.js";

// Kinds whose panel differs from that of a choice.
const LOADERS = {
  ordered: () => import("./kinds/ordered.js"),
  set: () => import("./kinds/set.js"),
  number: () => import("./kinds/number.js"),
  keyvalue: () => import("./kinds/keyvalue.js"),
  joint: () => import("./kinds/joint.js"),
};
const loaded = {};

/** Load the panels of the kinds of these questions. */
export async function loadPanels(questions) {
  const kinds = Object.keys(LOADERS).filter((kind) => questions.some((question) => question.kind === kind));
  const modules = await Promise.all(kinds.map((kind) => LOADERS[kind]())).catch(() => {
    throw new Refused(0, "unreachable", "The collector cannot be reached just now.");
  });
  kinds.forEach((kind, i) => (loaded[kind] = modules[i]));
}

/** Return the module with the charts, columns and units of a question's kind. */
export const panelOf = ({ kind }) => (Object.hasOwn(loaded, kind) ? loaded[kind] : choice);

const figure = (value, label) => h("div", { class: "figure" }, h("dt", {}, label), h("dd", {}, value));

/** Return the rows of the table: by default all rows of the estimate. */
const rowsOf = (question, estimate) => panelOf(question).rows?.(estimate) ?? estimate.estimates;

/** Show the figures at the top. */
export function figures(question, estimate) {
  const panel = panelOf(question);
  const error = estimate?.halving.stderr;
  return h("dl", { class: "figures" },
    figure(whole(estimate?.reports ?? question.reports), (estimate?.reports ?? question.reports) === 1 ? "report" : "reports"),
    estimate && panel.figures ? panel.figures(estimate).map(([value, label]) => figure(value, label)) : null,
    estimate && error !== null ? figure(`± ${panel.error(error)}`, panel.errorName) : null,
    figure(plain(question.epsilon, 4), "epsilon of a report"));
}

/** Return the alarms in sentences: crafted reports, and those of the estimate. */
export const foundAlarms = (estimate, integrity) => [...(integrity?.alarm ? [integrity.explanation] : []), ...(estimate?.alarms ?? [])];

/** Show the alarms, and the tests that were run. */
export function alarms(estimate, integrity) {
  const found = foundAlarms(estimate, integrity);
  const noted = estimate?.diagnostics?.warning ?? (estimate?.diagnostics?.converged === false ? "the estimate stopped before it converged" : null);
  const calm = integrity?.testable ? `No alarm in the newest ${whole(integrity.reports)} reports. ` : "Not tested for crafted reports. ";
  return [
    found.length
      ? h("div", { class: "notice", role: "alert" }, h("p", {}, h("strong", {}, found.length > 1 ? `${found.length} alarms` : "Alarm")), found.map((each) => h("p", {}, sentence(each))))
      : integrity && !integrity.failed && h("p", { class: "soft quietly" }, calm, integrity.explanation),
    integrity?.failed && h("div", { class: "notice", role: "alert" },
      h("p", {}, h("strong", {}, "Not tested: "), "the test for crafted reports failed. ", integrity.failed)),
    noted && h("p", { class: "notice info" }, h("strong", {}, "Note: "), sentence(noted)),
  ].filter(Boolean);
}

const sentence = (text) => text[0].toUpperCase() + daysSaid(text.slice(1)).replace(/\.?$/, ".");

/** Return how many answers stand out from noise, in a sentence; null where answers are no list. */
export function standing({ above_noise: found }) {
  if (!found || found.values === null) return null;
  if (found.values === found.of) return found.of > 1 ? `All ${whole(found.of)} answers stand out from noise.` : null;
  return `${whole(found.values)} of ${whole(found.of)} answers ${found.values === 1 ? "stands" : "stand"} out from noise.`;
}

/** Show the remarks below the estimate. */
export function remarks(question, estimate) {
  const digits = decimals(estimate.other_stderr);
  const hidden = panelOf(question).whole ? 0 : rowsOf(question, estimate).length - ROWS;
  const lines = [];
  if (!estimate.estimates.length) lines.push(h("p", {}, "No candidate was detected."));
  if ("other" in estimate) {
    lines.push(
      h("p", {}, h("strong", {}, `Everything else: ${share(estimate.other, digits)}`), ` (standard error ${share(estimate.other_stderr, digits)}). `,
        `${whole(estimate.detected)} of ${whole(estimate.candidates)} candidates were detected; ${estimate.controls}.`),
    );
  }
  lines.push(...(panelOf(question).remarks?.(estimate) ?? []));
  const { most } = panelOf(question);
  if (estimate.estimates.length === most) lines.push(h("p", {}, `The table has the ${whole(most)} most frequent; all are in the downloads.`));
  else if (hidden > 0) lines.push(h("p", {}, `The ${whole(hidden)} least frequent are in the table and the downloads.`));
  const covers = estimate.covers.startsWith("no ") ? sentence(estimate.covers) : `${share(estimate.level, 0)} intervals of the ${estimate.of}, ${validFor(estimate)}: ${estimate.covers}.`;
  lines.push(h("p", { class: "soft" }, `${covers} Method: ${estimate.method}.`));
  lines.push(...(estimate.notes ?? []).map((note) => h("p", { class: "soft" }, sentence(note))));
  const bound = estimate.diagnostics?.fake_clients?.sentence;
  if (bound) lines.push(h("p", { class: "soft" }, sentence(bound)));
  return lines;
}

/**
 * Return a table: the name of each row and its cells, which a narrow window shows below the name, each with its column's.
 * @param {string} label
 * @param {string[]} head the first is the column of the names
 * @param {[string, string[]][]} rows
 * @param {string} [note]
 */
function tableOf(label, head, rows, note) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", { role: "table" },
      h("thead", {}, h("tr", {}, head.map((name) => (name ? h("th", { scope: "col" }, name) : h("td"))))),
      h("tbody", {}, rows.map(([name, cells]) => h("tr", { role: "row" },
        h("th", { scope: "row", role: "rowheader", dir: "auto" }, name),
        cells.map((cell, i) => h("td", { role: "cell", "data-column": head[i + 1] }, cell)))))),
    note ? h("p", { class: "soft" }, note) : null);
}

/** Show the rows as a table. */
export function table(question, estimate) {
  const panel = panelOf(question);
  const { head, cells } = panel.columns(estimate, share(estimate.level, 0));
  return tableOf("Estimates as a table", head, rowsOf(question, estimate).map((row) => [String(row.value), cells(row)]), panel.note);
}

// The most lines of a chart that can be distinguished.
const LINES = 6;

/** Show what a weekly watch has found, however often the page is read: each change, and the promise. */
function watched({ finding, promise, changes }) {
  const told = ({ quantity, value, from, before, after, low, high }) => {
    const isShare = ["share", "up to"].includes(quantity);
    const show = (number) => (isShare ? share(number, 1) : plain(number, 4));
    const ends = isShare ? `${points(low)} to ${points(high)} percentage points` : `${show(low)} to ${show(high)}`;
    return h("li", {}, h("strong", { dir: "auto" }, String(value)), ` from ${show(before)} to ${show(after)} since ${day(from)}; the difference is ${ends} (95%).`);
  };
  return [h("p", { class: changes.length ? "notice info" : null }, daysSaid(finding)), changes.length && h("ul", {}, changes.map(told)), h("p", { class: "soft" }, daysSaid(promise))].filter(Boolean);
}

/** Return the trend's lines, of the values that changed and then of the largest, and the table of all changes. */
export function movement(found) {
  const sure = [...found.changes].sort((one, other) => one.p_value - other.p_value);
  const isShare = ["share", "up to"].includes(sure[0].quantity);
  const known = changesOf(found, "any", sure[0].quantity);
  const isClear = ({ value }) => Number(known.get(String(value)).clear);
  const shown = sure.filter(({ quantity }) => quantity === sure[0].quantity).sort((one, other) => isClear(other) - isClear(one) || other.after - one.after);
  const named = shown.slice(0, LINES).map(({ value }) => value);
  const rows = found.estimates.filter(({ quantity, value }) => quantity === sure[0].quantity && named.includes(value));
  const show = ({ quantity }) => (number) => (["share", "up to"].includes(quantity) ? share(number, 1) : plain(number, 4));
  const head = ["value", "before", "after", "from", "p-value", "adjusted"];
  const cells = (change) => [show(change)(change.before), show(change)(change.after), day(change.from), pValue(change.p_value), pValue(change.adjusted)];
  const table = tableOf("The largest change of every value", head, sure.map((change) => [String(change.value), cells(change)]));
  const explained = "The largest change of each value, for who looks once. Its p-value is adjusted for searching every day; the last column is also adjusted for searching every value.";
  return { rows, isShare, parts: [...watched(found.watch), h("details", {}, h("summary", {}, "Largest change of each answer"), table, h("p", { class: "soft" }, explained)), ...found.notes.map((note) => h("p", { class: "soft" }, sentence(note)))] };
}

/** Show the differences between two periods as a table, with the omnibus test. */
export function comparison(found) {
  const isShare = ({ quantity }) => ["share", "up to"].includes(quantity);
  const show = (row) => (number) => (isShare(row) ? share(number, decimals(row.stderr)) : plain(number, 4));
  const less = (row) => (number) => (isShare(row) ? points(number, decimals(row.stderr)) : plain(number, 4));
  const [first, second] = Object.keys(found.groups).map(daysSaid);
  // The unit is said once, or with its figures where rows have several.
  const unit = found.estimates.every(isShare) ? " Differences are in percentage points." : "";
  const unitOf = (row) => (isShare(row) && !unit ? " percentage points" : "");
  const head = ["value", "first period", "second period", "difference", `${share(found.level, 0)} interval`, "p-value", "adjusted"];
  const cells = (row) => [show(row)(row.first_estimate), show(row)(row.second_estimate), less(row)(row.difference) + unitOf(row), `${less(row)(row.low)} to ${less(row)(row.high)}${unitOf(row)}`, pValue(row.p_value), pValue(row.adjusted)];
  const test = found.tests[0];
  return [
    h("p", {}, `First period: ${first}. Second period: ${second}.${unit}`),
    tableOf("Differences between the periods", head, found.estimates.map((row) => [`${row.quantity === "share" ? "" : `${row.quantity} `}${row.value}`, cells(row)])),
    test.test && h("p", {}, `Omnibus test: ${test.test} ${test.statistic.toFixed(2)} on ${test.freedom} degrees of freedom, p-value ${pValue(test.p_value)}.`),
    h("p", { class: "soft" }, found.looks === "any" ? "Intervals and p-values hold at all looks together." : "Intervals and p-values are for one look."),
    ...found.notes.map((note) => h("p", { class: "soft" }, sentence(note))),
  ].filter(Boolean);
}

/** Show how many more reports halve the error, and how long that takes at the pace of the last week. */
export function halving(question, estimate) {
  const { more_reports: more, stderr } = estimate.halving;
  const today = new Date().toISOString().slice(0, 10);
  const lately = question.days.filter(({ day }) => day < today && Date.parse(today) - Date.parse(day) <= 7 * 864e5);
  const pace = lately.reduce((sum, { reports }) => sum + reports, 0) / 7;
  const wait = pace > 0 ? Math.ceil(more / pace) : null;
  const { error } = panelOf(question);
  return [
    h("p", {}, h("strong", {}, counted(more, "more report")), " would halve every error",
      stderr === null ? "." : `: the largest standard error from ${error(stderr)} to ${error(stderr / 2)}.`),
    wait && h("p", {}, `At the pace of the last seven full days (${whole(Math.round(pace))} a day) that takes ${wait === 1 ? "a day" : `${whole(wait)} days`}.`),
    h("p", { class: "soft" }, "Errors fall with the square root of the reports: half the error takes four times as many reports."),
  ];
}

/** Show the privacy that each respondent was promised. */
export function promise(question, overview) {
  const all = question.epsilon_total > question.epsilon ? `, epsilon ${plain(question.epsilon_total, 4)} in total` : "";
  return [
    h("p", {}, question.privacy),
    overview.asks && h("p", { id: "asks" }, overview.asks),
    h("p", {}, `Asked ${question.asked} of each person${all}.`,
      question.retention_days === null ? " Reports are kept until the collection is deleted." : ` Reports are deleted after ${whole(question.retention_days)} days; counts of at least 100 reports together stay.${question.dropped ? ` Too few for that, and in no estimate: ${counted(question.dropped, "older report")}.` : ""}`),
    h("p", { class: "soft" }, `${question.mechanism}, ${question.report_bytes === 1 ? "1 byte" : `${whole(question.report_bytes)} bytes`} a report; contract `, h("code", {}, overview.collection)),
  ].filter(Boolean);
}

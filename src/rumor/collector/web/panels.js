/** What the dashboard says about a question, beside its charts. */

import { h } from "./dom.js";

export const whole = (value) => new Intl.NumberFormat("en").format(value);
export const share = (value, digits = 1) =>
  value === null ? "none" : new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
export const plain = (value, digits = 3) =>
  value === null ? "none" : new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(value);

/** So many decimals of a percentage carry information when its error is this large. */
const decimals = (error) => (error > 0 ? Math.min(4, Math.max(0, Math.ceil(-Math.log10(error)) - 1)) : 1);
const fixed = (value, error) => (value === null ? "none" : value.toFixed(error > 0 ? Math.min(9, Math.max(0, Math.ceil(-Math.log10(error)) + 1)) : 2));

const figure = (value, label) => h("div", { class: "figure" }, h("dt", {}, label), h("dd", {}, value));

/** The numbers at the top. */
export function figures(question, estimate) {
  const error = estimate?.halving.stderr;
  const mean = question.kind === "number";
  const row = mean ? estimate?.estimates[0] : null;
  return h("dl", { class: "figures" },
    figure(whole(question.reports), "reports"),
    row ? figure(`${fixed(row.mean, error)}`, "mean") : null,
    estimate && error !== null ? figure(mean ? `± ${plain(error, 2)}` : `± ${plain(100 * error, 2)} points`, mean ? "standard error" : "largest standard error") : null,
    figure(plain(question.epsilon, 4), "epsilon of a report"));
}

/** What is wrong, and what was looked at. */
export function alarms(estimate, integrity) {
  const found = [...(integrity?.alarm ? [integrity.explanation] : []), ...(estimate?.alarms ?? [])];
  const noted = estimate?.diagnostics?.warning ?? (estimate?.diagnostics?.converged === false ? "the estimate stopped before it converged" : null);
  const calm = integrity?.testable ? `No alarm in the newest ${whole(integrity.reports)} reports. ` : "No alarm. ";
  return [
    found.length
      ? h("div", { class: "notice", role: "alert" }, h("p", {}, h("strong", {}, found.length > 1 ? `${found.length} alarms` : "Alarm")), found.map((each) => h("p", {}, sentence(each))))
      : integrity && !integrity.failed && h("p", { class: "soft quietly" }, calm, integrity.explanation),
    integrity?.failed && h("div", { class: "notice", role: "alert" },
      h("p", {}, h("strong", {}, "Not tested: "), "whether these reports look crafted could not be found out. ", integrity.failed)),
    noted && h("p", { class: "quietly" }, h("strong", {}, "Note: "), sentence(noted)),
  ].filter(Boolean);
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1).replace(/\.?$/, ".");

/** What the estimate says beside its rows. */
export function remarks(question, estimate) {
  const digits = decimals(estimate.other_stderr);
  const hidden = estimate.estimates.length - 20;
  const lines = [];
  if (!estimate.estimates.length) lines.push(h("p", {}, "No candidate was detected."));
  if ("other" in estimate) {
    lines.push(
      h("p", {}, h("strong", {}, `Everything else: ${share(estimate.other, digits)}`), ` (standard error ${share(estimate.other_stderr, digits)}). `,
        `${whole(estimate.detected)} of ${whole(estimate.candidates)} candidates were detected; ${estimate.controls}.`),
    );
  }
  if (hidden > 0) lines.push(h("p", {}, `The ${whole(hidden)} least frequent are in the table and the downloads.`));
  lines.push(h("p", { class: "soft" }, `Lines are ${share(estimate.level, 0)} intervals of the ${estimate.of}. Method: ${estimate.method}.`));
  const bound = estimate.diagnostics?.fake_clients?.sentence;
  if (bound) lines.push(h("p", { class: "soft" }, sentence(bound)));
  return lines;
}

/** The rows as a table. */
export function table(question, estimate) {
  const error = estimate.halving.stderr;
  const digits = decimals(error);
  const level = share(estimate.level, 0);
  const interval = (low, high, show) => `${show(low)} to ${show(high)}`;
  const asShare = (value) => share(value, digits);
  const [head, cells] = {
    number: [["", "mean", `${level} interval`, "standard error"], (row) =>
      [fixed(row.mean, row.stderr), interval(row.low, row.high, (v) => fixed(v, row.stderr)), plain(row.stderr, 2)]],
    keyvalue: [["key", "share", `${level} interval`, "mean", `${level} interval`], (row) =>
      [asShare(row.frequency) + (row.known ? "" : " ?"), interval(row.low, row.high, asShare),
        plain(row.mean) + (row.mean_known ? "" : " ?"), interval(row.mean_low, row.mean_high, (v) => plain(v))]],
  }[question.kind] ?? [["answer", "share", `${level} interval`, "standard error"], (row) =>
    [asShare(row.frequency), interval(row.low, row.high, asShare), asShare(row.stderr)]];
  const rows = [...estimate.estimates].sort((a, b) => (b.frequency ?? 0) - (a.frequency ?? 0));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Estimates as a table" },
    h("table", {},
      h("thead", {}, h("tr", {}, head.map((name) => (name ? h("th", { scope: "col" }, name) : h("td"))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, String(row.value)), cells(row).map((cell) => h("td", {}, cell)))))),
    question.kind === "keyvalue" ? h("p", { class: "soft" }, "? marks answers that are no better than the prior.") : null);
}

/** How many more people halve the error, and how long that takes at the pace of the last week. */
export function halving(question, estimate) {
  const { more_reports: more, stderr } = estimate.halving;
  const today = new Date().toISOString().slice(0, 10);
  const lately = question.days.filter(({ day }) => day < today && Date.parse(today) - Date.parse(day) <= 7 * 864e5);
  const pace = lately.reduce((sum, { reports }) => sum + reports, 0) / 7;
  const wait = pace > 0 ? Math.ceil(more / pace) : null;
  const error = (value) => (question.kind === "number" ? plain(value, 2) : `${plain(100 * value, 2)} points`);
  return [
    h("p", {}, h("strong", {}, `${whole(more)} more reports`), " would halve every error",
      stderr === null ? "." : `: the largest standard error from ${error(stderr)} to ${error(stderr / 2)}.`),
    wait && h("p", {}, `At the pace of the last seven full days (${whole(Math.round(pace))} a day) that takes ${wait === 1 ? "a day" : `${whole(wait)} days`}.`),
    h("p", { class: "soft" }, "Errors fall with the square root of the reports: half the error takes four times as many in all."),
  ];
}

/** What each person was promised. */
export function promise(question, overview) {
  const all = question.epsilon_total > question.epsilon ? `, epsilon ${plain(question.epsilon_total, 4)} in all` : "";
  return [
    h("p", {}, question.privacy),
    h("p", {}, `Asked ${question.asked} of each person${all}.`,
      question.retention_days === null ? " Reports are kept until the collection is deleted." : ` Reports are deleted after ${whole(question.retention_days)} days; the counts stay.`),
    h("p", { class: "soft" }, `${question.mechanism}, ${question.report_bytes === 1 ? "1 byte" : `${whole(question.report_bytes)} bytes`} a report; contract `, h("code", {}, overview.collection)),
  ];
}

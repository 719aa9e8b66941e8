/** All questions at a glance: a card each, with its headline, how it moved, its reports and any alarm. */

import { h } from "/client/view/dom.js";
import { headline } from "./headline.js";
import { counted, day } from "./numbers.js";
import { foundAlarms, panelOf } from "./panels.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * Draw numbers as a line without axes, over the band of their intervals where they have some, so that noise looks like noise;
 * `caption` says in print where it begins and where it ends.
 * @param {{ at: number, low?: number | null, high?: number | null }[]} points
 */
function sparkline(points, caption) {
  const all = points.flatMap(({ at, low, high }) => [at, low ?? at, high ?? at]);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const place = (number, i) => `${((100 * i) / (points.length - 1)).toFixed(1)},${(30 - (28 * (number - least)) / (most - least || 1)).toFixed(1)}`;
  const node = (tag, attributes) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const picture = node("svg", { class: "sparkline", viewBox: "0 0 100 32", preserveAspectRatio: "none", "aria-hidden": "true" });
  const band = [...points.map(({ at, high }, i) => place(high ?? at, i)), ...points.map(({ at, low }, i) => place(low ?? at, i)).reverse()];
  picture.append(node("polygon", { points: band.join(" ") }), node("polyline", { points: points.map(({ at }, i) => place(at, i)).join(" "), "vector-effect": "non-scaling-stroke" }));
  return h("figure", {}, picture, h("figcaption", { class: "soft" }, caption.map((part) => h("span", {}, part))));
}

/** Draw how the first answer moved, or how many reports came each day where nothing else is known. */
function movedLine(question, { estimate, trend }) {
  const top = estimate && panelOf(question).top(estimate);
  const line = top && trend ? trend.estimates.filter(({ quantity, value }) => quantity === top.quantity && String(value) === String(top.name)) : [];
  if (line.length > 1) {
    const said = (row) => `${day(row.period)}: ${top.show(row.line)}`;
    return sparkline(line.map(({ line: at, low, high }) => ({ at, low, high })), [said(line[0]), said(line[line.length - 1])]);
  }
  if (question.days.length < 2) return null;
  const counts = question.days.map(({ reports }) => reports);
  return sparkline(counts.map((at) => ({ at, low: 0 })), [`${day(question.days[0].day)}: ${counted(counts[0], "report")}`, `${day(question.days[counts.length - 1].day)}: ${counted(counts[counts.length - 1], "report")}`]);
}

/**
 * Return the card of a question.
 * @param {any} question
 * @param {{ estimate?: any, integrity?: any, trend?: any, problem?: string, looks: string }} known what is known so far
 * @param {(id: string) => void} open
 */
export function card(question, known, open) {
  const found = known.estimate && headline(question, known.estimate, known);
  const alarms = foundAlarms(known.estimate, known.integrity);
  const waiting = question.reports ? "Estimating …" : "No reports yet.";
  return h("article", { class: "card glance", "data-question": question.id },
    h("h2", {}, h("button", { type: "button", class: "plain", dir: "auto", onclick: () => open(question.id) }, question.text || question.id)),
    h("p", { class: "headline", dir: "auto" }, found ? found.figure : known.problem ?? waiting),
    found?.change ? h("p", {}, found.change) : null,
    movedLine(question, known),
    h("p", { class: "soft" }, counted(question.reports, "report")),
    alarms.length > 0 && h("p", { class: "notice", role: "alert" }, alarms.length > 1 ? `${alarms.length} alarms` : "Alarm"));
}

/** All questions at a glance: a card each, with its headline, how it moved, its reports and any alarm. */

import { h } from "/client/view/dom.js";
import { headline } from "./headline.js";
import { counted, day } from "./numbers.js";
import { foundAlarms, panelOf } from "./panels.js";

const SVG = "http://www.w3.org/2000/svg";

/** Draw numbers as a line without axes; `label` says what it shows. */
function sparkline(numbers, label) {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  const point = (number, i) => `${((100 * i) / (numbers.length - 1)).toFixed(1)},${(28 - (24 * (number - least)) / (most - least || 1)).toFixed(1)}`;
  const node = (tag, attributes) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const picture = node("svg", { class: "sparkline", viewBox: "0 0 100 32", preserveAspectRatio: "none", role: "img", "aria-label": label });
  picture.append(node("polyline", { points: numbers.map(point).join(" "), "vector-effect": "non-scaling-stroke" }));
  return picture;
}

/** Draw how the first answer moved, or how many reports came each day where nothing else is known. */
function movedLine(question, { estimate, trend }) {
  const top = estimate && panelOf(question).top(estimate);
  const line = top && trend ? trend.estimates.filter(({ quantity, value }) => quantity === top.quantity && String(value) === String(top.name)) : [];
  if (line.length > 1) {
    const [first, last] = [line[0], line[line.length - 1]];
    return sparkline(line.map((row) => row.line), `${top.name}: ${top.show(first.line)} on ${day(first.period)}, ${top.show(last.line)} on ${day(last.period)}`);
  }
  if (question.days.length < 2) return null;
  return sparkline(question.days.map(({ reports }) => reports), `Reports of each day since ${day(question.days[0].day)}`);
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

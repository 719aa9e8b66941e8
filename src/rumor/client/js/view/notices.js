/** Notices before answering: the assigned questions and day, linked reports, the relay, and what is sent in the clear. */

import { lossOf } from "../loss.js";
import { h } from "./dom.js";
import { groupsView } from "./groups.js";
import { formatNumber } from "./report.js";

/**
 * Return the notices of a contract; `linked`: whether a linked question is assigned; `assignment`; `lang`: the language of its
 * day; `chosen`: the respondent's groups, which may be changed while the page is `open`.
 */
export function noticesView(contract, linked, assignment, words, lang, chosen = {}, open = true) {
  return [
    contract.ask && assignmentView(assignment, words.asked, lang),
    linked && linkedView(contract, words),
    contract.relay && relayView(contract.relay, words),
    contract.groups && groupsView(contract.groups, chosen, words, open),
  ].filter(Boolean);
}

/** Show the respondent's assignment, and why the other questions are not asked. */
function assignmentView({ questions, total, day, days, open }, words, lang) {
  const said = [];
  if (questions.length < total) said.push(words.asked(questions.length, total));
  if (day !== null) {
    const date = new Date(`${day}T00:00:00Z`);
    said.push(words.day(new Intl.DateTimeFormat(lang, { dateStyle: "long", timeZone: "UTC" }).format(date), days));
    if (!open) said.push(date > new Date() ? words.early : words.late);
  }
  return h("div", { id: "asked", class: "notice info" }, said.map((sentence) => h("p", {}, sentence)));
}

/** Show that the reports of two questions are linked, and their total epsilon. */
function linkedView({ linked, question }, words) {
  const [first, second] = linked.map((id) => question(id).text || id);
  const both = linked.reduce((sum, id) => sum + lossOf(question(id)).answer, 0);
  return h("p", { id: "linked", class: "notice info" }, words.linked(first, second, formatNumber(words, both, 4)));
}

/** Show which relay forwards the reports. */
function relayView({ url, crowd, days, turn_hours: hours }, words) {
  // With turns an envelope waits for two of them at most.
  const said = words.relay(new URL(url).origin, crowd, hours ? Math.ceil(hours / 12) : days);
  return h("p", { id: "relay", class: "notice info" }, said, hours ? ` ${words.turns(hours)}` : null);
}

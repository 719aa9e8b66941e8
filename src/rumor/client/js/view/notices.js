/** What a person is told before they answer: what was drawn of many, what may be joined, who passes reports on. */

import { lossOf } from "../loss.js";
import { h } from "./dom.js";
import { formatNumber } from "./report.js";

/** A notice for each; `linked` is whether a question that is asked may be joined, `asked` what was drawn, `lang` how its day is written. */
export function noticesView(contract, linked, asked, words, lang) {
  return [
    contract.ask && askedView(asked, words.asked, lang),
    linked && linkedView(contract, words),
    contract.relay && relayView(contract.relay, words),
  ].filter(Boolean);
}

/** What was drawn, and why nothing else is asked. */
function askedView({ questions, of, day, days, open }, words, lang) {
  const said = [];
  if (questions.length < of) said.push(words.asked(questions.length, of));
  if (day !== null) {
    const date = new Date(`${day}T00:00:00Z`);
    said.push(words.day(new Intl.DateTimeFormat(lang, { dateStyle: "long", timeZone: "UTC" }).format(date), days));
    if (!open) said.push(date > new Date() ? words.early : words.late);
  }
  return h("div", { id: "asked", class: "notice" }, said.map((sentence) => h("p", {}, sentence)));
}

/** That two reports of a person may be joined, and what both cost. */
function linkedView({ linked, question }, words) {
  const [first, second] = linked.map((id) => question(id).text || id);
  const both = linked.reduce((sum, id) => sum + lossOf(question(id)).answer, 0);
  return h("p", { id: "linked", class: "notice" }, words.linked(first, second, formatNumber(words, both, 4)));
}

/** Where reports go through a relay. */
function relayView({ url, crowd, days, turn_hours: hours }, words) {
  // With turns an envelope waits for two of them at most.
  const said = words.relay(new URL(url).origin, crowd, hours ? Math.ceil(hours / 12) : days);
  return h("p", { id: "relay", class: "notice" }, said, hours ? ` ${words.turns(hours)}` : null);
}

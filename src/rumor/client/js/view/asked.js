/** What a person is told where each is asked some of many questions, or on one of many days. */

import { h } from "./dom.js";

/** What was drawn, and why nothing else is asked. */
export function askedView({ questions, of, day, days, open }, { asked: words }, lang) {
  const said = [];
  if (questions.length < of) said.push(words.asked(questions.length, of));
  if (day !== null) {
    const date = new Date(`${day}T00:00:00Z`);
    said.push(words.day(new Intl.DateTimeFormat(lang, { dateStyle: "long", timeZone: "UTC" }).format(date), days));
    if (!open) said.push(date > new Date() ? words.early : words.late);
  }
  return h("div", { id: "asked", class: "notice" }, said.map((sentence) => h("p", {}, sentence)));
}

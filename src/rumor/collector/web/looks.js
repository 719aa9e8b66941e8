/** How often the intervals may be read: at any look, unless somebody chooses one look. */

import { h } from "/client/view/dom.js";

const HINTS = {
  any: "Intervals hold at all looks together: read them as often as you like. They are about one and a half times as long as those for one look.",
  one: "Intervals are for one look, at a time fixed in advance. Whoever looks every day will see some of them miss.",
};
const ONE_ONLY = "Intervals are for one look, at a time fixed in advance: words are found by a test for one look.";

/** Return the looks that are asked for: "one" or "any", which is what null stands for where a question has it. */
export const looksOf = (question, chosen) => (question.any_look ? chosen ?? "any" : "one");

/** Show the switch between one look and any, with the sentence that explains the choice. */
export function looksSwitch(question, chosen, choose) {
  const looks = looksOf(question, chosen);
  const hint = h("p", { class: "soft", id: "looks-hint", "aria-live": "polite" }, question.any_look ? HINTS[looks] : ONE_ONLY);
  if (!question.any_look) return h("div", { class: "looks" }, hint);
  const change = ({ target }) => {
    hint.textContent = HINTS[target.checked ? "any" : "one"];
    choose(target.checked ? null : "one");
  };
  return h("div", { class: "looks" },
    h("label", {}, h("input", { id: "looks", type: "checkbox", checked: looks === "any", "aria-describedby": "looks-hint", onchange: change }), h("span", {}, "Valid at any look")),
    hint);
}

/** Return how often an estimate's intervals may be read, as the end of a phrase. */
export const validFor = ({ looks }) => (looks === "any" ? "valid at any look" : "valid for one look");

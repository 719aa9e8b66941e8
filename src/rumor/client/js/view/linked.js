/** What a person is told where the reports of two of the questions may be joined. */

import { h } from "./dom.js";

/** The sentence about two questions, with what both cost as it is to be shown. */
export function linkedView({ linked, question }, epsilon, words) {
  const [first, second] = linked.map((id) => question(id).text || id);
  return h("p", { id: "linked", class: "notice" }, words.linked(first, second, epsilon));
}

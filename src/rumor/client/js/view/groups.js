/** The notice about groups, which are sent in the clear, with a control for each. */

import { OTHER, namesOf } from "../groups.js";
import { h } from "./dom.js";

/**
 * Return the notice. The respondent's groups are read from and written to `chosen`.
 * @param {Record<string, readonly string[]>} groups those of the contract
 * @param {Record<string, string>} chosen
 * @param {any} words
 * @param {boolean} open whether groups can still be changed
 */
export function groupsView(groups, chosen, words, open) {
  const fields = namesOf(groups).map((name) => {
    const mine = groups[name].includes(chosen[name]) ? chosen[name] : OTHER;
    const options = groups[name].map((label) =>
      h("option", { value: label, selected: label === mine }, label === OTHER ? words.groups.other : label));
    const select = h("select", { id: `group-${name}`, disabled: !open, onchange: ({ target }) => (chosen[name] = target.value) }, options);
    return h("p", {}, h("label", { for: `group-${name}` }, name), " ", select);
  });
  return h("div", { id: "groups", class: "notice info" }, h("p", {}, words.groups.said), fields);
}

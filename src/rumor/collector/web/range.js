/** Which days and which groups are looked at: all of them, unless somebody chooses. */

import { h } from "/client/view/dom.js";
import { counted } from "./numbers.js";

/**
 * Return a control for each column of groups; those of few reports cannot be chosen, since people could be told apart.
 * @param {{name: string, group: string, reports: number, shown: boolean}[]} groups
 * @param {string[]} chosen each NAME=GROUP
 * @param {(chosen: string[]) => void} choose
 */
export function groupControls(groups, chosen, choose) {
  const others = (name) => chosen.filter((each) => !each.startsWith(`${name}=`));
  const fields = [...new Set(groups.map(({ name }) => name))].map((name) => {
    const option = ({ group, reports, shown }) =>
      h("option", { value: group, selected: chosen.includes(`${name}=${group}`), disabled: !shown }, `${group} (${counted(reports, "report")}${shown ? "" : ", too few"})`);
    const change = ({ target }) => choose([...others(name), ...(target.selectedIndex ? [`${name}=${target.value}`] : [])]);
    return h("label", {}, h("span", {}, name),
      h("select", { name, onchange: change }, h("option", { value: "" }, "everybody"), groups.filter((each) => each.name === name).map(option)));
  });
  return h("div", { class: "periods range groups", role: "group", "aria-label": "Groups of the estimate" }, fields);
}

/**
 * @param {{day: string, last: string}[]} days those with reports; past retention, several together
 * @param {{from: string | null, to: string | null}} chosen
 * @param {(from: string | null, to: string | null) => void} choose
 */
export function range(days, chosen, choose) {
  if (days.length < 2) return null;
  const [min, max] = [days[0].day, days[days.length - 1].last];
  const field = (name, label, value) => h("label", {}, h("span", {}, label), h("input", { type: "date", name, value, min, max, required: true }));
  const submit = (event) => {
    event.preventDefault();
    const { from, to } = event.target.elements;
    choose(from.value, to.value);
  };
  return h("form", { class: "periods range", onsubmit: submit, "aria-label": "Days of the estimate" },
    field("from", "Days from", chosen.from ?? min), field("to", "to", chosen.to ?? max), h("button", {}, "Show"),
    (chosen.from || chosen.to) && h("button", { type: "button", class: "quiet", onclick: () => choose(null, null) }, "All days"));
}

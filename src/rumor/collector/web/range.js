/** Which days are looked at: all of them, unless somebody chooses. */

import { h } from "/client/view/dom.js";

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

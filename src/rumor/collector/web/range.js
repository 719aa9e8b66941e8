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

const DAY = 864e5;
const shifted = (day, by) => new Date(Date.parse(day) + by * DAY).toISOString().slice(0, 10);
const length = (from, to) => Math.round((Date.parse(to) - Date.parse(from)) / DAY) + 1;

/**
 * Return the period before the one that is shown, as long as it, or null where no reports came then. Where all days are shown,
 * the last seven are compared with the seven before, or halves of fewer days.
 * @param {{day: string, last: string}[]} days
 * @param {{from: string | null, to: string | null}} chosen
 */
export function periodBefore(days, { from, to }) {
  if (days.length < 2) return null;
  const [min, max] = [days[0].day, days[days.length - 1].last];
  const until = to ?? max;
  const since = from ?? shifted(until, 1 - Math.min(7, Math.floor(length(min, until) / 2)));
  const many = length(since, until);
  const before = { from: shifted(since, -many), to: shifted(since, -1) };
  if (!days.some(({ day, last }) => last >= before.from && day <= before.to)) return null;
  return { from: since, to: until, first: `${before.from}..${before.to}`, second: `${since}..${until}`, said: many === 1 ? "the day before" : `the ${many} days before` };
}

/**
 * Return the buttons for ranges of days, and fields for any other.
 * @param {{day: string, last: string}[]} days those with reports; past retention, several together
 * @param {{from: string | null, to: string | null, against: any}} chosen
 * @param {(from: string | null, to: string | null, against: boolean) => void} choose
 */
export function range(days, chosen, choose) {
  if (days.length < 2) return null;
  const [min, max] = [days[0].day, days[days.length - 1].last];
  const field = (name, label, value) => h("label", {}, h("span", {}, label), h("input", { type: "date", name, value, min, max, required: true }));
  const submit = (event) => {
    event.preventDefault();
    const { from, to } = event.target.elements;
    choose(from.value, to.value, false);
  };
  const button = (label, pressed, onclick) => h("button", { type: "button", "aria-pressed": String(pressed), onclick }, label);
  const lately = [7, 30].filter((many) => length(min, max) > many).map((many) => ({ many, from: shifted(max, 1 - many) }));
  const isAll = !chosen.from && !chosen.to;
  const isLately = ({ from }) => chosen.from === from && chosen.to === max;
  const before = periodBefore(days, chosen);
  return h("div", { class: "range" },
    h("div", { class: "presets", role: "group", "aria-label": "Days" },
      lately.map((each) => button(`${each.many} days`, isLately(each), () => choose(each.from, max, Boolean(chosen.against)))),
      button("Since the start", isAll, () => choose(null, null, false)),
      before && button("Against the period before", Boolean(chosen.against), () => choose(before.from, before.to, !chosen.against))),
    h("details", { class: "other-days", open: !isAll && !lately.some(isLately) }, h("summary", {}, "Other days"),
      h("form", { class: "periods", onsubmit: submit, "aria-label": "Days of the estimate" },
        field("from", "Days from", chosen.from ?? min), field("to", "to", chosen.to ?? max), h("button", {}, "Show"))));
}

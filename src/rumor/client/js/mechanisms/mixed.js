/** Several answers in one table: chance asks for the pair or for one of its margins. */

import { concat } from "../bytes.js";
import { checkMembers, refuse, refuseAnswer, checkInteger, threshold } from "../checks.js";
import { typeOf } from "../errors.js";
import { make as subset } from "./subset-selection.js";

export const keys = ["sizes", "components"];

const MOST = 100;
const product = (numbers) => numbers.reduce((all, one) => all * one, 1);

/** @param {{ id: string, labels: string[] }[] | null} named the parts, where they have names */
export function make(p, named) {
  const count = Array.isArray(p.sizes) ? p.sizes.length : 0;
  if (count < 2 || count > 4) refuse("sizes must be two to four numbers of values", p.sizes);
  const sizes = p.sizes.map((each) => checkInteger("the values of a part", each, 2, MOST));
  if (named && named.map(({ labels }) => labels.length).join() !== sizes.join()) {
    refuse(`the parts must have ${sizes.join(", ")} labels`, named.map(({ labels }) => labels.length));
  }
  const ids = named ? named.map(({ id }) => id) : sizes.map((_, part) => String(part));
  const nameOf = (part, place) => (named ? named[part].labels[place] : String(place));
  const components = checkList("components", p.components).map((each) => makeComponent(each, sizes, nameOf));
  const last = components.length - 1;
  if (last < 0 || p.components.some(({ chance }, i) => (chance === null) !== (i === last))) {
    refuse("the last component, and no other, has the chance null", p.components);
  }
  checkPairs(components, count);
  const width = 1 + Math.max(...components.map(({ oracle }) => oracle.width));
  const placesOf = (given) => ids.map((id, part) => placeOf(given[part], id, sizes[part], named?.[part].labels));
  return {
    kind: "joint",
    width,
    epsilon: Math.max(...components.map(({ oracle }) => oracle.epsilon)),
    encode(value) {
      const whole = `an answer must have every part (${ids.join(", ")})`;
      if (!value || typeof value !== "object") refuseAnswer(whole, typeOf(value));
      if (Array.isArray(value)) return value.length === count ? placesOf(value) : refuseAnswer(whole, `${value.length} of ${count}`);
      const missing = ids.find((id) => !Object.hasOwn(value, id));
      if (missing !== undefined) refuseAnswer(whole, `none for '${missing}'`);
      if (Object.keys(value).length > count) refuseAnswer(whole, "others as well");
      return placesOf(ids.map((id) => value[id]));
    },
    identity: (places) => String(cellOf(places, sizes.map((_, part) => part), sizes)),
    draw(places, draws) {
      const index = components.findIndex(({ chance }) => chance === null || draws.coin(chance));
      const { asks, oracle } = components[index];
      const report = oracle.draw(cellOf(places, asks, sizes), draws);
      return concat([index], report, new Uint8Array(width - 1 - report.length));
    },
    // The coins are those of the component that the report names.
    coins: (report) => components[report[0]].oracle.coins,
    caption: `Chance decided, whatever was answered, ${components.length > 1 ? "which of the answers this report is about" : "that it is about all answers"}: a random set of them, likelier to hold the true one.`,
    parts(report) {
      const { asks, oracle } = components[report[0]];
      const of = asks.map((part) => ids[part]);
      const said = oracle.parts(report.subarray(1, 1 + oracle.width)).map((part) => ({ ...part, of }));
      return [{ name: "asked", kind: "text", value: of.join(", ") }, ...said];
    },
  };
}

function checkList(name, list) {
  return Array.isArray(list) ? list : refuse(`${name} must be a list`, list);
}

/** Return a component: subset selection on the cells of the table of some parts. */
function makeComponent(given, sizes, nameOf) {
  const { asks, chance, ...noise } = checkMembers("a component", given, ["asks", "chance", "size", "inclusion"]);
  const places = checkList("asks", asks).map((part) => checkInteger("a part", part, 0, sizes.length - 1));
  const domain = product(places.map((part) => sizes[part]));
  if (!places.length || places.some((part, i) => i && part <= places[i - 1]) || domain > MOST) {
    refuse(`a component asks for some of the parts in their order, of at most ${MOST} cells`, asks);
  }
  const cells = Array.from({ length: domain }, (_, cell) => cellName(cell, places, sizes, nameOf));
  return { asks: places, chance: chance === null ? null : threshold("the chance", chance), oracle: subset({ domain, ...noise }, cells) };
}

/** Return the name of a cell: the labels of its values. */
function cellName(cell, asks, sizes, nameOf) {
  const names = [...asks].reverse().map((part) => {
    const place = cell % sizes[part];
    cell = (cell - place) / sizes[part];
    return nameOf(part, place);
  });
  return names.reverse().join(", ");
}

const cellOf = (places, asks, sizes) => asks.reduce((cell, part) => cell * sizes[part] + places[part], 0);

function placeOf(value, id, count, labels) {
  const rule = `the part '${id}' of an answer must be ${labels ? "one of its labels" : `an integer below ${count}`}`;
  const whole = Number.isSafeInteger(value);
  if (!labels) return whole && value >= 0 && value < count ? value : refuseAnswer(rule, whole ? "another integer" : typeOf(value));
  const place = whole || typeof value === "string" ? labels.indexOf(String(value).normalize("NFC")) : -1;
  return place >= 0 ? place : refuseAnswer(rule, typeof value === "string" ? "another text" : typeOf(value));
}

/** Check that no component repeats, and that every two parts are together in one of them. */
function checkPairs(components, count) {
  const asked = components.map(({ asks }) => asks);
  const together = (one, other) => asked.some((asks) => asks.includes(one) && asks.includes(other));
  let all = new Set(asked.map(String)).size === asked.length;
  for (let one = 0; one < count; one++) for (let other = one + 1; other < count; other++) all &&= together(one, other);
  if (!all) refuse("components must differ, and ask for any two parts together", asked);
}

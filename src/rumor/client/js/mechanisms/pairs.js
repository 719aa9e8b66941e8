/** Some of a fixed list of keys, each with a number: what one person holds. */

import { bytesFor } from "../bytes.js";
import { canonicalJson } from "../canonical.js";
import { refuse, refuseAnswer, checkInteger, threshold } from "../checks.js";
import { typeOf } from "../errors.js";
import { GRID, grid } from "./grid.js";
import { firstFew } from "./labels.js";

export const PAIRS = ["keys", ...GRID];

export const CAPPED = [...PAIRS, "cap", "over_cap", "truth"];
const HELD = "the value of a key that is held";
const SAYS = ["nothing", "plus", "minus"];

/** Return a key's output (0 nothing, 1 plus, 2 minus) as a part of a report's description. */
export const keyPart = (name, output) => ({ name, kind: "text", value: SAYS[output] });

/** Return the members that all key-value mechanisms share; an answer is encoded as a map of keys to steps. */
export function pairs(p, labels) {
  const keys = checkInteger("keys", p.keys, 1, 1e5);
  if (labels && labels.length !== keys) refuse(`the number of labels must be ${keys}`, labels.length);
  const { steps, step, clipped } = grid(p);
  const position = (name) => {
    const found = labels ? labels.indexOf(name.normalize("NFC")) : /^(0|[1-9]\d{0,5})$/.test(name) ? +name : -1;
    if (found >= 0 && found < keys) return found;
    const rule = labels ? `one of the question's (${firstFew(labels)})` : `an integer from 0 to ${keys - 1}`;
    return refuseAnswer(`a key must be ${rule}`, "another");
  };
  return {
    kind: "keyvalue",
    keys,
    steps,
    integer: bytesFor(keys),
    nameOf: (key) => (labels ? labels[key] : String(key)),
    /** Return the steps of an answer by ascending key. */
    encode(value) {
      if (!value || typeof value !== "object" || Array.isArray(value)) {
        refuseAnswer("an answer must be an object of keys and numbers", typeOf(value));
      }
      const held = Object.entries(value).map(([name, number]) => [position(name), step(number, HELD)]);
      const map = new Map(held.sort(([a], [b]) => a - b));
      if (map.size < held.length) refuseAnswer("a person must hold each key once", "one twice");
      return map;
    },
    identity: (_, value) => canonicalJson(value).normalize("NFC"),
    notes: (value) => clipped(Object.values(value)),
  };
}

/** Return the members that item sampling and PCKV-GRR share: slots, one of which is reported. */
export function capped(p, labels) {
  const base = pairs(p, labels);
  const cap = checkInteger("cap", p.cap, 1, base.keys);
  if (p.over_cap !== "refuse" && p.over_cap !== "sample") {
    refuse("over_cap must be one of refuse, sample", p.over_cap);
  }
  return {
    ...base,
    cap,
    truth: threshold("truth", p.truth),
    /** Return the pairs by ascending key. Above the cap, the report is drawn from all pairs, whatever `over_cap` is. */
    encode: (value) => [...base.encode(value)],
    notes: (value) => [
      ...base.notes(value),
      ...(Object.keys(value).length > cap
        ? [{ code: "over-cap", cap, message: `more than ${cap} keys are held, and the report draws from all of them` }]
        : []),
    ],
    /** Return an item, 2 key + (0 plus, 1 minus), as a part of a report's description. */
    itemPart: (item) => keyPart(base.nameOf(item >> 1), 1 + (item & 1)),
  };
}

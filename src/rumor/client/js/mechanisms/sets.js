/** Any of a fixed list of options: labels, or numbers 0..domain-1 where there are none. */

import { refuse, refuseAnswer } from "../checks.js";
import { typeOf } from "../errors.js";
import { choice } from "./labels.js";

/** The contract parameters of every mechanism for sets. */
export const SETS = ["domain", "counted"];
const ONCE = "an answer must name each option once";

/** Return the members that all mechanisms for sets share; an answer is encoded as ascending numbers. */
export function sets(p, labels) {
  const paired = p.counted === "pairs";
  if (!paired && p.counted !== "options") refuse("counted must be one of options, pairs", p.counted);
  const odd = labels?.find((label) => label.includes("|"));
  if (odd !== undefined) refuse("an option's label must not hold '|', which stands between options", odd);
  const base = choice(p.domain, paired ? 256 : 1e4, labels);
  return {
    ...base,
    kind: "set",
    paired,
    encode(value) {
      if (!Array.isArray(value)) refuseAnswer("an answer must be a list of options", typeOf(value));
      const codes = value.map(base.encode).sort((a, b) => a - b);
      if (new Set(codes).size < codes.length) refuseAnswer(ONCE, "one twice");
      return codes;
    },
    /** Return the text that identifies an answer, as Python writes a tuple. */
    identity: (codes) => `(${codes.join(", ")}${codes.length === 1 ? "," : ""})`,
  };
}

/** Draw `count` of `total` places without replacement, in ascending order. */
export const samplePlaces = (draws, total, count) => draws.sample(total, count).sort((a, b) => a - b);

/** Return a list of options as a part of a report's description. */
export const listPart = (name, options, nameOf) => ({ name, kind: "text", value: options.map(nameOf).join(", ") || "–" });


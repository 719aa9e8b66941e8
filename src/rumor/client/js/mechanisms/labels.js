/** One of a fixed list of answers: labels, or numbers 0..domain-1 where there are none. */

import { refuse, refuseAnswer, checkInteger } from "../checks.js";
import { typeOf } from "../errors.js";

/** Return the members that all mechanisms for choices share. */
export function choice(domain, most, labels) {
  const count = checkInteger("domain", domain, 2, most);
  if (labels && labels.length !== count) refuse(`the number of labels must be ${count}`, labels.length);
  return {
    kind: "choice",
    domain: count,
    /** Return the label of a value, or its number as text. */
    nameOf: (code) => (labels ? labels[code] : String(code)),
    encode(value) {
      if (!labels) {
        if (Number.isInteger(value)) {
          if (value >= 0 && value < count) return value;
          refuseAnswer(`values must lie in 0..${count - 1}`, "another integer");
        }
        refuseAnswer(`values must be integers from 0 to ${count - 1}, since the domain has no labels`, typeOf(value));
      }
      // A rating of 1 is the label "1", wherever that stands.
      const whole = Number.isSafeInteger(value);
      const code = whole || typeof value === "string" ? labels.indexOf(String(value).normalize("NFC")) : -1;
      if (code < 0 && whole) {
        refuseAnswer(`an integer must be written as one of the labels (${firstFew(labels)}) is`, "another integer");
      }
      if (code < 0) {
        const got = typeof value === "string" ? "another text" : typeOf(value);
        refuseAnswer(`a label must be one of the domain's (${firstFew(labels)})`, got);
      }
      return code;
    },
    /** Return the text that identifies a value: its number. */
    identity: String,
    /** Return bits as a part of a report's description, with the label of each bit. */
    bitsPart: (name, value) => (labels ? { name, kind: "bits", value, labels } : { name, kind: "bits", value }),
  };
}

/** Return the first five labels as text. */
export const firstFew = (labels) => labels.slice(0, 5).join(", ") + (labels.length > 5 ? ", ..." : "");

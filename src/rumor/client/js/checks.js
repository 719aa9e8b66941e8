/** Reading a contract's numbers: every value checked, every refusal one sentence. */

import { RumorError, formatValue } from "./errors.js";
import { logUp } from "./exact.js";
import { WORD, split } from "./randomness.js";

/** Refuse a contract. @returns {never} */
export function refuse(rule, got) {
  throw new RumorError("contract", `${rule}; got ${formatValue(got)}`);
}

/** Refuse an answer, which the sentence does not repeat. @returns {never} */
export function refuseAnswer(rule, got) {
  throw new RumorError("answer", `${rule}; got ${got}`);
}

/** An integer within a closed range. */
export function checkInteger(name, value, low, high) {
  if (!Number.isInteger(value) || value < low || value > high) {
    refuse(`${name} must be an integer from ${low} to ${high}`, value);
  }
  return value;
}

/** A threshold as a contract writes it: a decimal string of an integer over 2^64. */
export function threshold(name, text, low = 1n, high = WORD - 1n) {
  const plain = typeof text === "string" && /^(0|[1-9][0-9]{0,19})$/.test(text);
  if (!plain || BigInt(text) < low || BigInt(text) > high) {
    refuse(`${name} must be a decimal string of an integer from ${low} to ${high}`, text);
  }
  return split(BigInt(text));
}

/**
 * An object with exactly these members, and others only where they say something unusual: what
 * `defaults` names is left out where it has the value given there, so that what means the
 * same is the same.
 */
export function checkMembers(what, given, keys, defaults = {}) {
  const plain = given && typeof given === "object" && !Array.isArray(given);
  const said = plain ? Object.keys(defaults).filter((key) => Object.hasOwn(given, key)) : [];
  const odd = plain ? Object.keys(given).filter((key) => ![...keys, ...said].includes(key)) : [];
  if (!plain || odd.length || !keys.every((key) => Object.hasOwn(given, key))) {
    refuse(`${what} must have exactly the members ${keys.join(", ")}`, plain ? Object.keys(given) : given);
  }
  for (const key of said) {
    if (given[key] === defaults[key]) refuse(`${what} leaves ${key} ${formatValue(given[key])} out`, "it said");
  }
  return given;
}

/** The logarithm of above / below, exact and rounded up; refused where nothing could be learned. */
export function checkedLoss(above, below) {
  if (above <= below) refuse("a value must be likelier in reports of its own people", `${above}/${below}`);
  return logUp(above, below);
}

/** A threshold, or another fraction of whole numbers, for people to read: nothing is decided by it. */
export const approximate = (above, below = WORD) => Number((above << 53n) / below) / 2 ** 53;

/** Checks of a contract's members; an error is one sentence. */

import { RumorError, formatValue } from "./errors.js";
import { logUp } from "./exact.js";
import { WORD, split } from "./randomness.js";

/** Refuse a contract. */
export function refuse(rule, got) {
  throw new RumorError("contract", `${rule}; got ${formatValue(got)}`);
}

/** Refuse an answer, without repeating it. */
export function refuseAnswer(rule, got) {
  throw new RumorError("answer", `${rule}; got ${got}`);
}

/** Return `value` if it is an integer from `low` to `high`. */
export function checkInteger(name, value, low, high) {
  if (!Number.isInteger(value) || value < low || value > high) {
    refuse(`${name} must be an integer from ${low} to ${high}`, value);
  }
  return value;
}

/** Return a threshold that a contract writes as a decimal string: an integer over 2^64. */
export function threshold(name, text, low = 1n, high = WORD - 1n) {
  const plain = typeof text === "string" && /^(0|[1-9][0-9]{0,19})$/.test(text);
  if (!plain || BigInt(text) < low || BigInt(text) > high) {
    refuse(`${name} must be a decimal string of an integer from ${low} to ${high}`, text);
  }
  return split(BigInt(text));
}

/**
 * Return `given` if it is an object with exactly the members `keys`. It may also have members of `defaults`, but not with
 * their default values, so that equal meaning is equal bytes.
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

/** Return ln(above / below), exact and rounded up; refuse a mechanism whose reports say nothing. */
export function checkedLoss(above, below) {
  if (above <= below) refuse("a value must be likelier in reports of its own people", `${above}/${below}`);
  return logUp(above, below);
}

/** Return above / below as a double, for display only. */
export const approximate = (above, below = WORD) => Number((above << 53n) / below) / 2 ** 53;

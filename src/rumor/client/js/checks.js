/** Reading a contract's numbers: every value checked, every refusal one sentence. */

import { RumorError, shown } from "./errors.js";
import { WORD, split } from "./randomness.js";

/** Refuse a contract. @returns {never} */
export function refuse(rule, got) {
  throw new RumorError("contract", `${rule}; got ${shown(got)}`);
}

/** Refuse an answer, which the sentence does not repeat. @returns {never} */
export function refuseAnswer(rule, got) {
  throw new RumorError("answer", `${rule}; got ${got}`);
}

/** An integer within a closed range. */
export function size(name, value, low, high) {
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

/** An object with exactly these members. */
export function members(what, given, keys) {
  const plain = given && typeof given === "object" && !Array.isArray(given);
  const odd = plain ? Object.keys(given).filter((key) => !keys.includes(key)) : [];
  if (!plain || odd.length || !keys.every((key) => Object.hasOwn(given, key))) {
    refuse(`${what} must have exactly the members ${keys.join(", ")}`, plain ? Object.keys(given) : given);
  }
  return given;
}

/**
 * ln(above / below) of two positive integers. The difference is taken exactly, so that
 * small losses keep their digits. It informs and limits; it decides no coin.
 */
export const logRatio = (above, below) => Math.log1p(Number(above - below) / Number(below));

/** The same, refusing where nothing could be learned. */
export function loss(above, below) {
  if (above <= below) refuse("a value must be likelier in reports of its own people", `${above}/${below}`);
  return logRatio(above, below);
}

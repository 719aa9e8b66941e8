/**
 * Numbers on a grid: a range cut into equal steps, in the same doubles in every language. Ranges
 * within 1e100 of zero and 1e-100 long or longer keep every operation within normal doubles: then
 * the step of any number is an integer from 0 to `steps`.
 */

import { refuse, refuseAnswer, checkInteger } from "../checks.js";
import { typeOf } from "../errors.js";

const [LARGEST, SHORTEST] = [1e100, 1e-100];
export const GRID = ["range", "steps", "outside"];

/**
 * The range of a contract: how many steps it has, and on which of them a number stands: the nearest
 * or, where steps are `bins`, the one it lies in.
 */
export function grid(p, bins = false) {
  const [low, high] = Array.isArray(p.range) && p.range.length === 2 ? p.range : [];
  if (typeof low !== "number" || typeof high !== "number" || !(low < high)) {
    refuse("range must be a list of two numbers, the lower first", p.range);
  }
  if (Math.max(Math.abs(low), Math.abs(high)) > LARGEST) {
    refuse("a range must be from -1e+100 to 1e+100, so that squares of errors can be told", p.range);
  }
  if (high - low < SHORTEST) {
    refuse("a range must be at least 1e-100 long, so that steps in it can be told", p.range);
  }
  if (p.outside !== "refuse" && p.outside !== "clip") refuse("outside must be one of refuse, clip", p.outside);
  const steps = checkInteger("steps", p.steps, 1, 1 << 20);
  const scale = steps / (high - low);
  const checked = (value, what) =>
    typeof value !== "number" || Number.isNaN(value) ? refuseAnswer(`${what} must be a number`, typeOf(value)) : value;
  return {
    steps,
    /** Clipped, whatever `outside` says: whether a device sends a report must not depend on the answer. */
    step(value, what = "an answer") {
      const inside = Math.min(Math.max(checked(value, what), low), high);
      return Math.min(Math.floor((inside - low) * scale + (bins ? 0 : 0.5)), bins ? steps - 1 : steps);
    },
    /** Return the note on numbers outside the range, which `step` replaces by the nearest end. */
    clipped(values) {
      const message = `a number outside ${low} to ${high} was taken as the nearest end`;
      return values.some((value) => value < low || value > high) ? [{ code: "clipped", low, high, message }] : [];
    },
  };
}

/** Return the members that all mechanisms for one number share. */
export function number(p) {
  const { steps, step, clipped } = grid(p);
  return { kind: "number", steps, encode: (value) => step(value), identity: (_, value) => String(value), notes: (value) => clipped([value]) };
}

/** Numbers on a grid: a range cut into equal steps, in the same doubles in every language. */

import { refuse, refuseAnswer, size } from "./checks.js";

export const GRID = ["range", "steps", "outside"];

/** The range of a contract: how many steps it has, and on which of them a number stands. */
export function grid(p) {
  const [low, high] = Array.isArray(p.range) && p.range.length === 2 ? p.range : [];
  if (typeof low !== "number" || !(low < high) || !Number.isFinite(high - low)) {
    refuse("range must be a list of two numbers, the lower first", p.range);
  }
  if (p.outside !== "refuse" && p.outside !== "clip") refuse("outside must be one of refuse, clip", p.outside);
  const steps = size("steps", p.steps, 1, 1 << 20);
  const scale = steps / (high - low);
  return {
    steps,
    step(value) {
      if (typeof value !== "number" || Number.isNaN(value)) refuseAnswer("values must be numbers", value);
      if (p.outside === "refuse" && (value < low || value > high)) {
        refuseAnswer(`values must lie in ${low} to ${high} (or be clipped: outside = "clip")`, value);
      }
      const inside = Math.min(Math.max(value, low), high);
      return Math.min(Math.floor((inside - low) * scale + 0.5), steps);
    },
  };
}

/** What every mechanism for one number shares. */
export function number(p) {
  const { steps, step } = grid(p);
  return { kind: "number", steps, encode: step, identity: (_, value) => String(value) };
}

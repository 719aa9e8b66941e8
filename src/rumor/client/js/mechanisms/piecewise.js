/** The piecewise mechanism (Wang et al. 2019) on integers: a number near the true one, or not. */

import { GRID, number } from "./grid.js";
import { nearOrFar } from "./near-or-far.js";

export const keys = [...GRID, "window", "inside"];

export function make(p) {
  const base = number(p);
  const { window, ...drawn } = nearOrFar(p, base.steps, base.steps);
  return {
    ...base,
    ...drawn,
    caption: `A number from 0 to ${base.steps + window - 1}: likelier, but not surely, near the true one.`,
  };
}

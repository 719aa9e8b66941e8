/** The piecewise mechanism (Wang et al. 2019) on integers: a number near the true one, or not. */

import { GRID, number } from "./grid.js";
import { windowedResponse } from "./windowed.js";

export const keys = [...GRID, "window", "inside"];

export function make(p) {
  const base = number(p);
  const { window, ...response } = windowedResponse(p, base.steps, base.steps);
  return {
    ...base,
    ...response,
    caption: `A number from 0 to ${base.steps + window - 1}: likelier, but not surely, near the true one.`,
  };
}

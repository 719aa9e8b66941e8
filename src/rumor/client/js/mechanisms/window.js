/** The window mechanism on integers: a cell near the true number, or not, each worth a public number. */

import { refuse } from "../checks.js";
import { GRID, number } from "./grid.js";
import { windowedResponse } from "./windowed.js";

export const keys = [...GRID, "window", "values", "inside"];

const [MOST, LARGEST] = [32, 2047];

/** Check the public numbers of the upper half of the cells, which must ascend; the lower half mirrors them. */
function checkValues(values) {
  const rising = (value, i, all) => Number.isInteger(value) && value > (i ? all[i - 1] : 0) && value <= LARGEST;
  if (!Array.isArray(values) || !values.length || values.length > MOST || !values.every(rising)) {
    refuse(`values must be 1 to ${MOST} ascending integers from 1 to ${LARGEST}`, values);
  }
  return values;
}

export function make(p) {
  const values = checkValues(p.values);
  const base = number(p);
  const cells = 2 * values.length;
  const { window, draw, supports: _, ...response } = windowedResponse(p, cells - p.window, cells - 1);
  const worth = [...values.map((value) => -value).reverse(), ...values];
  const sums = Array.from({ length: cells - window + 1 }, (_, k) =>
    worth.slice(k, k + window).reduce((total, value) => total + value, 0),
  );
  const top = sums[sums.length - 1];
  return {
    ...base,
    ...response,
    /** Round a step at random to one of the two nodes around it, so that the mean is kept; then draw as near that node. */
    draw(step, draws) {
      const place = (2 * step - base.steps) * top;
      let node = sums.findIndex((_, k) => k + 1 === sums.length || base.steps * sums[k + 1] > place);
      const beyond = place - base.steps * sums[node];
      if (beyond && draws.below(base.steps * (sums[node + 1] - sums[node])) < beyond) node++;
      return draw(node, draws);
    },
    caption: `A number from 0 to ${cells - 1}: likelier, but not surely, near the place of the true one.`,
  };
}

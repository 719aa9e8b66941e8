/** The piecewise mechanism (Wang et al. 2019) on integers: a number near the true one, or not. */

import { bytesFor, fromLittleEndian, littleEndian } from "../bytes.js";
import { loss, size, threshold } from "../checks.js";
import { GRID, number } from "./grid.js";
import { WORD } from "../randomness.js";

export const keys = [...GRID, "window", "inside"];

export function make(p) {
  const base = number(p);
  const { steps } = base;
  const window = size("window", p.window, 1, steps);
  const inside = threshold("inside", p.inside);
  const width = bytesFor(steps + window);
  return {
    ...base,
    width,
    epsilon: loss(inside.big * BigInt(steps), (WORD - inside.big) * BigInt(window)),
    draw(step, draws) {
      if (draws.coin(inside)) return littleEndian(width, step + draws.below(window));
      const far = draws.below(steps);
      return littleEndian(width, far + (far >= step ? window : 0));
    },
    caption: `A number from 0 to ${steps + window - 1}: likelier, but not surely, near the true one.`,
    parts: (report) => [{ name: "number", kind: "number", value: fromLittleEndian(report) }],
  };
}

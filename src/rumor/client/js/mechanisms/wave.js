/** The wave (Li et al. 2020) on integers: a position near the true one, or not, for ordered answers. */

import { checkInteger } from "../checks.js";
import { grid } from "./grid.js";
import { choice } from "./labels.js";
import { windowedResponse } from "./windowed.js";

/** A scale of numbers also has the keys of its range. */
const RANGE = ["range", "outside"];
export const keys = (p) => ["window", "inside", "bins", ...(RANGE.some((key) => Object.hasOwn(p, key)) ? RANGE : [])];

const MOST = 4096;

export function make(p, labels) {
  const bins = checkInteger("bins", p.bins, 2, MOST);
  const { window, ...response } = windowedResponse(p, bins - 1, bins);
  const last = bins + window - 2;
  return {
    ...scale(p, bins, labels),
    ...response,
    kind: "ordered",
    /** The reports near an answer: `window` positions, which begin `window - 1` before the answer. */
    reach: { bins, window },
    caption: `A number from 0 to ${last}: likelier, but not surely, near the place of the answer.`,
  };
}

/** Labels in their order, or a range cut into bins. */
function scale(p, bins, labels) {
  if (Object.hasOwn(p, "range")) {
    const { step, clipped } = grid({ range: p.range, steps: bins, outside: p.outside }, true);
    return { encode: (value) => step(value), identity: String, notes: (value) => clipped([value]) };
  }
  const { encode, identity } = choice(bins, MOST, labels);
  return { encode, identity };
}

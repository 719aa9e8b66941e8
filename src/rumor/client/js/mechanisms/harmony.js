/** Harmony (Nguyen et al. 2016): a number as one noisy bit. */

import { littleEndian } from "../bytes.js";
import { approximate, threshold } from "../checks.js";
import { logUp } from "../exact.js";
import { GRID, number } from "./grid.js";
import { WORD, split } from "../randomness.js";

export const keys = [...GRID, "truth"];

export function make(p) {
  const base = number(p);
  const truth = threshold("truth", p.truth, WORD / 2n + 1n).big;
  const lie = WORD - truth;
  return {
    ...base,
    width: 1,
    epsilon: logUp(truth, lie),
    draw(step, draws) {
      const one = lie + ((truth - lie) * BigInt(step)) / BigInt(base.steps);
      return littleEndian(1, Number(draws.coin(split(one))));
    },
    coins: { of: "ends", own: approximate(lie), other: approximate(truth) },
    caption: "One bit: 1 is likelier the nearer the number is to the high end.",
    parts: (report) => [{ name: "bit", kind: "bits", value: [report[0]] }],
  };
}

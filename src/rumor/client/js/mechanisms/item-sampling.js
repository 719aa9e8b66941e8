/** Item sampling: one of a person's own keys, or nothing. */

import { bytesFor, fromLittleEndian, littleEndian } from "../bytes.js";
import { approximate } from "../checks.js";
import { logUp } from "../exact.js";
import { CAPPED, capped, keyPart } from "./pairs.js";
import { WORD } from "../randomness.js";

export const keys = CAPPED;

export function make(p, labels) {
  const base = capped(p, labels);
  const { steps, cap, truth, itemPart } = base;
  const [items, outputs] = [2 * base.keys, 2 * base.keys + cap];
  const width = bytesFor(items + 1);
  const rest = (WORD - truth.big) * BigInt(cap);
  const any = approximate(WORD - truth.big, WORD * BigInt(outputs));
  return {
    ...base,
    width,
    epsilon: logUp(rest + truth.big * BigInt(outputs), rest),
    draw(held, draws) {
      let output = 0;
      if (draws.coin(truth)) {
        const [key, step] = held[draws.below(Math.max(held.length, cap))] ?? [];
        if (key !== undefined) output = 1 + 2 * key + Number(draws.below(steps) >= step);
      } else {
        const pick = draws.below(outputs);
        if (pick < items) output = 1 + pick;
      }
      return littleEndian(width, output);
    },
    coins: { of: "pick", own: approximate(truth.big) + any, other: any },
    caption: `One of the ${base.keys} keys and what it says, or nothing: perhaps the truth.`,
    parts(report) {
      const output = fromLittleEndian(report);
      return [output ? itemPart(output - 1) : keyPart("any key", 0)];
    },
  };
}

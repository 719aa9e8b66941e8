/** PCKV-GRR (Gu et al. 2020): pad a person's keys, draw one, randomise it among all. */

import { bytesFor, fromLittleEndian, littleEndian } from "../bytes.js";
import { checkedLoss, approximate } from "../checks.js";
import { CAPPED, capped, keyPart } from "./pairs.js";
import { WORD } from "../randomness.js";

export const keys = CAPPED;

export function make(p, labels) {
  const base = capped(p, labels);
  const { steps, cap, truth, itemPart } = base;
  const pairs = 2 * (base.keys + cap);
  const width = bytesFor(pairs);
  const rest = WORD - truth.big;
  return {
    ...base,
    width,
    epsilon: checkedLoss(truth.big * BigInt(pairs - 1) + BigInt(cap - 1) * rest, BigInt(cap) * rest),
    draw(held, draws) {
      const slot = draws.below(Math.max(held.length, cap));
      const [key, step] = held[slot] ?? [base.keys + slot - held.length, steps / 2];
      const item = 2 * key + Number(draws.below(2 * steps) >= 2 * step);
      return littleEndian(width, draws.coin(truth) ? item : draws.another(pairs, item));
    },
    coins: { of: "pick", own: approximate(truth.big), other: approximate(rest, WORD * BigInt(pairs - 1)) },
    caption: `One of the ${base.keys} keys and what it says, or a filler: perhaps the truth.`,
    parts(report) {
      const item = fromLittleEndian(report);
      return [item < 2 * base.keys ? itemPart(item) : keyPart("a filler", 0)];
    },
  };
}

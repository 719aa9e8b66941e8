/** PCKV-GRR (Gu et al. 2020): pad a person's keys, draw one, randomise it among all. */

import { bytesFor, fromLittleEndian, littleEndian } from "../bytes.js";
import { loss, share } from "../checks.js";
import { CAPPED, capped, said } from "./pairs.js";
import { WORD } from "../randomness.js";

export const keys = CAPPED;

export function make(p, labels) {
  const base = capped(p, labels);
  const { steps, cap, truth, shows } = base;
  const pairs = 2 * (base.keys + cap);
  const width = bytesFor(pairs);
  const rest = WORD - truth.big;
  return {
    ...base,
    width,
    epsilon: loss(truth.big * BigInt(pairs - 1) + BigInt(cap - 1) * rest, BigInt(cap) * rest),
    draw(held, draws) {
      const slot = draws.below(Math.max(held.length, cap));
      const [key, step] = held[slot] ?? [base.keys + slot - held.length, steps / 2];
      const item = 2 * key + Number(draws.below(2 * steps) >= 2 * step);
      return littleEndian(width, draws.coin(truth) ? item : draws.another(pairs, item));
    },
    coins: { of: "pick", own: share(truth.big), other: share(rest, WORD * BigInt(pairs - 1)) },
    caption: `One of the ${base.keys} keys and what it says, or a filler: perhaps the truth.`,
    parts(report) {
      const item = fromLittleEndian(report);
      return [item < 2 * base.keys ? shows(item) : said("a filler", 0)];
    },
  };
}

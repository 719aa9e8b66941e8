/** The block mechanism for keys: randomised response on the joint state of a few sampled keys. */

import { concat, integers, littleEndian } from "../bytes.js";
import { checkedLoss, approximate, checkInteger, threshold } from "../checks.js";
import { PAIRS, pairs, keyPart } from "./pairs.js";
import { WORD } from "../randomness.js";

export const keys = [...PAIRS, "block", "truth"];

export function make(p, labels) {
  const base = pairs(p, labels);
  const { steps, integer, nameOf } = base;
  const block = checkInteger("block", p.block, 1, Math.min(base.keys, 5));
  const states = 3 ** block;
  const truth = threshold("truth", p.truth);
  return {
    ...base,
    width: block * integer + 1,
    epsilon: checkedLoss(truth.big * BigInt(states - 1), WORD - truth.big),
    draw(held, draws) {
      const chosen = draws.sample(base.keys, block).sort((a, b) => a - b);
      let state = 0;
      chosen.forEach((key, i) => {
        if (held.has(key)) state += 3 ** i * (draws.below(steps) < held.get(key) ? 1 : 2);
      });
      if (!draws.coin(truth)) state = draws.another(states, state);
      return concat(littleEndian(integer, ...chosen), littleEndian(1, state));
    },
    coins: { of: "truth", own: approximate(truth.big), other: null },
    caption: `${block} of the ${base.keys} keys, drawn by chance, and what they say: perhaps the truth.`,
    parts: (report) =>
      integers(report, integer, block).map((key, i) =>
        keyPart(nameOf(key), Math.floor(report[block * integer] / 3 ** i) % 3)),
  };
}

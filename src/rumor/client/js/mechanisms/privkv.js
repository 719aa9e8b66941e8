/** PrivKV (Ye et al. 2019): one sampled key, its value and its presence perturbation together. */

import { concat, fromLittleEndian, littleEndian } from "../bytes.js";
import { approximate, threshold } from "../checks.js";
import { logUp } from "../exact.js";
import { PAIRS, pairs, keyPart } from "./pairs.js";
import { WORD } from "../randomness.js";

export const keys = [...PAIRS, "key_truth", "value_truth"];

export function make(p, labels) {
  const base = pairs(p, labels);
  return { ...base, ...perturbation(p, base, () => base.steps, [base.steps]) };
}

/** The mechanism, given the made-up value of each key in half steps, and all of these values. */
export function perturbation(p, { keys, steps, integer, nameOf }, madeUp, fakes) {
  const keyTruth = threshold("key_truth", p.key_truth, WORD / 2n);
  const valueTruth = threshold("value_truth", p.value_truth, WORD / 2n + 1n);
  return {
    width: integer + 1,
    epsilon: worstLogRatio(keyTruth.big, valueTruth.big, steps, fakes),
    draw(held, draws) {
      const key = draws.below(keys);
      const has = held.has(key);
      const up = draws.below(2 * steps) < (has ? 2 * held.get(key) : madeUp(key));
      const plus = up === draws.coin(valueTruth);
      const seen = draws.coin(keyTruth) === has;
      return concat(littleEndian(integer, key), littleEndian(1, seen ? (plus ? 1 : 2) : 0));
    },
    coins: { of: "both", own: approximate(keyTruth.big), other: approximate(valueTruth.big) },
    caption: `One of the ${keys} keys, drawn by chance, and what it says: perhaps the truth.`,
    parts: (report) => [keyPart(nameOf(fromLittleEndian(report.subarray(0, integer))), report[integer])],
  };
}

/** The worst log-ratio over outputs and pairs of inputs, key by key. */
function worstLogRatio(t1, t2, steps, fakes) {
  const [all, u1, u2] = [2n * BigInt(steps), WORD - t1, WORD - t2];
  let [above, below] = [t1, u1];
  for (const fake of new Set(fakes.flatMap((half) => [half, 2 * steps - half]))) {
    const chances = [t1 * t2 * all, t1 * u2 * all, u1 * (u2 * all + (t2 - u2) * BigInt(fake))];
    chances.sort((a, b) => (a < b ? -1 : 1));
    if (chances[2] * below > above * chances[0]) [above, below] = [chances[2], chances[0]];
  }
  return logUp(above, below);
}

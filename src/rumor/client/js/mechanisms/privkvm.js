/** One round of PrivKVM: PrivKV whose made-up values are the means that were published. */

import { refuse, checkInteger, threshold } from "../checks.js";
import { logUp, totalUp } from "../exact.js";
import { pairs } from "./pairs.js";
import { keys as PRIVKV, perturbation } from "./privkv.js";
import { WORD } from "../randomness.js";

// `later` has the thresholds of later rounds; `rounds` has their number, if all rounds are equal.
export const keys = (p) => [...PRIVKV, Object.hasOwn(p, "later") ? "later" : "rounds", "round", "made_up"];

export function make(p, labels) {
  const base = pairs(p, labels);
  const uneven = Object.hasOwn(p, "later");
  if (uneven && !(Array.isArray(p.later) && p.later.length)) refuse("later must be a list of thresholds", p.later);
  const rounds = checkInteger("rounds", uneven ? checkInteger("round", p.round, 1, 100) + p.later.length : p.rounds, 2, 100);
  const round = checkInteger("round", p.round, 1, rounds);
  if (!Array.isArray(p.made_up) || p.made_up.length !== base.keys) {
    refuse(`made_up must be a list of ${base.keys} integers`, p.made_up);
  }
  const fakes = p.made_up.map((fake) => checkInteger("made_up", fake, 0, 2 * base.steps));
  if (round === 1 && fakes.some((fake) => fake !== base.steps)) {
    refuse("round 1 makes values up by a fair coin", fakes);
  }
  const asksKeys = p.key_truth !== String(2n ** 63n);
  if (asksKeys !== (round === 1)) refuse("keys are asked about in round 1 alone", round);
  const one = perturbation(p, base, (key) => fakes[key], fakes);
  // Later rounds ask about the value alone.
  const truths = uneven ? p.later : Array(rounds - round).fill(p.value_truth);
  if (uneven) for (const truth of truths) threshold("later", truth, WORD / 2n + 1n);
  if (uneven && truths.every((truth) => truth === p.value_truth)) refuse("later is for rounds that differ", truths);
  const later = truths.map((truth) => logUp(BigInt(truth), WORD - BigInt(truth)));
  return {
    ...base,
    round,
    rounds,
    ...one,
    epsilonAllRounds: (n) => totalUp([one.epsilon, ...later].map((loss) => [loss, n])),
  };
}

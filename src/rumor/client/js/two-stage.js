/**
 * RAPPOR's two stages of noise on bits (Erlingsson, Pihur and Korolova 2014): permanent noise,
 * drawn once for each person and value, and fresh noise on top of it for each report.
 */

import { bitAt, makeBits } from "./bytes.js";
import { refuse, threshold } from "./checks.js";
import { WORD } from "./randomness.js";

export const NOISE = ["flip", "low", "high"];

/** The noise on `count` bits; flip, low and high are the thresholds of f/2, p and q. */
export function twoStage(p, count) {
  const [flip, low, high] = NOISE.map((name) => threshold(name, p[name], 0n, WORD));
  if (2n * flip.big >= WORD) refuse("flip must be below 2^63", p.flip);
  if (low.big >= high.big) refuse("high must be above low", p.high);
  const [permanent, fresh] = [flip.big > 0n, low.big > 0n || high.big < WORD];
  if (!permanent && (low.big === 0n || high.big === WORD)) {
    refuse("without permanent noise, low must be above 0 and high below 2^64", [p.low, p.high]);
  }
  const share = Number(flip.big) / 2 ** 64;
  const gap = Number(WORD - 2n * flip.big) / 2 ** 64;
  // What n reports tell at most of a bit that two filters differ in, given ln u with
  // u = (p/q)^n for reported ones and ((1-q)/(1-p))^n for zeros: ln (a + (1-a)u)/(1-a + au).
  const tell = (ln) => Math.log1p((gap * -Math.expm1(ln)) / (share + (1 - share) * Math.exp(ln)));
  return {
    flip: p.flip,
    /** Without permanent noise each further report reveals as much again. */
    once: !permanent,
    /** The loss of n reports between filters that set `more` and `less` bits alone. */
    lossAfter(n, more, less) {
      const apart = Number(high.big - low.big);
      const ones = tell(n * Math.log1p(-apart / Number(high.big)));
      const zeros = tell(n * Math.log1p(-apart / Number(WORD - low.big)));
      return Math.max(more * ones + less * zeros, less * ones + more * zeros);
    },
    /** For each bit in order, one coin(flip) that flips it. */
    settle: (filter, draws) =>
      permanent ? makeBits(count, (i) => draws.coin(flip) !== (bitAt(filter, i) === 1)) : filter,
    /** For each bit in order, coin(high) if set, else coin(low). */
    report: (settled, draws) =>
      fresh ? makeBits(count, (i) => draws.coin(bitAt(settled, i) ? high : low)) : settled,
  };
}

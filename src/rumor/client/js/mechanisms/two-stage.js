/**
 * RAPPOR's two stages of noise on bits (Erlingsson, Pihur and Korolova 2014): permanent noise,
 * drawn once for each permanent answer, and fresh noise on top of it for each report.
 */

import { bitAt, makeBits } from "../bytes.js";
import { refuse, approximate, threshold } from "../checks.js";
import { logUp } from "../exact.js";
import { WORD } from "../randomness.js";

export const NOISE_KEYS = ["flip", "low", "high"];
/** The parameters of instantaneous randomised response (IRR), which is drawn for each report. */
export const IRR_KEYS = ["low", "high"];

const BINARY_PLACES = 512n;
// How likely a report of 1 is if the permanent bit is 0 and if it is 1; and a report of 0 if it is 1 and 0.
const SIDES = [({ low, high }) => [low, high], ({ low, high }) => [WORD - high, WORD - low]];

/** The noise on `count` bits; flip, low and high are the thresholds of f/2, p and q. */
export function twoStage(p, count) {
  const [flip, low, high] = NOISE_KEYS.map((name) => threshold(name, p[name], 0n, WORD));
  if (2n * flip.big >= WORD) refuse("flip must be below 2^63", p.flip);
  if (low.big >= high.big) refuse("high must be above low", p.high);
  const [isMemoised, hasInstantaneous] = [flip.big > 0n, low.big > 0n || high.big < WORD];
  if (!isMemoised && (low.big === 0n || high.big === WORD)) {
    refuse("without permanent noise, low must be above 0 and high below 2^64", [p.low, p.high]);
  }
  const keep = WORD - flip.big;
  // With t how likely reports that are all 1 (all 0) are if the permanent bit is 0 (1), over how
  // likely they are if it is 1 (0), they tell by at most ln (a + (1-a)t) / (1-a + at) of the bit.
  const posteriorRatio = ([t, unit]) => [keep * unit + flip.big * t, flip.big * unit + keep * t];
  // How likely a bit of a report is 1 where the filter's is 1, and where it is 0, over 2^128.
  const [one, zero] = [keep * high.big + flip.big * low.big, flip.big * high.big + keep * low.big];
  return {
    low: low.big,
    high: high.big,
    /** Whether permanent noise is drawn and memoised. */
    isMemoised,
    coins: { own: approximate(one, WORD * WORD), other: approximate(zero, WORD * WORD) },
    /** A bit that is 1, as evidence for the one answer that sets it. */
    odds: [one * (WORD * WORD - zero), zero * (WORD * WORD - one)],
    /**
     * The loss of reports of one permanent answer between filters that set `first` and `second`
     * bits alone. `made` says whose fresh noise they have, and how many of each: f is the same.
     */
    lossTogether(made, first, second) {
      const [ones, zeros] = SIDES.map((side) => posteriorRatio(productBelow(made.map(([noise, n]) => [side(noise), n]))));
      const product = (i) => ones[i] ** BigInt(first) * zeros[i] ** BigInt(second);
      return logUp(product(0), product(1));
    },
    /** For each bit in order, one coin(flip) that flips it. */
    drawPermanent: (filter, draws) =>
      isMemoised ? makeBits(count, (i) => draws.coin(flip) !== (bitAt(filter, i) === 1)) : filter,
    /** For each bit in order, coin(high) if set, else coin(low). */
    drawInstantaneous: (settled, draws) =>
      hasInstantaneous ? makeBits(count, (i) => draws.coin(bitAt(settled, i) ? high : low)) : settled,
  };
}

/**
 * A product of powers of fractions as another one, never above it: itself if there is only one.
 *
 * Otherwise in units of 2^-512, every step rounded down. N reports in all lose less than 6N units of
 * it, which change a loss by less than 6N 2^64 * 128 units: below 2^-414 for the million that may be
 * asked for. No loss is below 2^-127, so it is too large by less than a part in 10^80, and the double
 * above it is as good as always the one above the exact loss.
 */
function productBelow(parts) {
  if (parts.length === 1 && parts[0][1] === 1) return parts[0][0];
  const product = parts.reduce((all, [fraction, n]) => (all * powerBelow(fraction, n)) >> BINARY_PLACES, 1n << BINARY_PLACES);
  return [product, 1n << BINARY_PLACES];
}

/** Return a power of a fraction in units of 2^-512, never above it. */
function powerBelow([above, below], n) {
  let [found, square] = [1n << BINARY_PLACES, (above << BINARY_PLACES) / below];
  for (let left = n; left; left = Math.floor(left / 2)) {
    if (left % 2) found = (found * square) >> BINARY_PLACES;
    square = (square * square) >> BINARY_PLACES;
  }
  return found;
}

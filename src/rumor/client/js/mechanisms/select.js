/** Select: a random set of options that likely holds some of the person's own. */

import { bytesFor, integers, littleEndian, packBits, unpackBits } from "../bytes.js";
import { refuse, approximate, checkInteger, threshold } from "../checks.js";
import { logUp } from "../exact.js";
import { WORD, split } from "../randomness.js";
import { SETS, listPart, samplePlaces, sets } from "./sets.js";

export const keys = [...SETS, "cap", "size", "least", "over_cap", "boost"];

/** Return the binomial coefficient, n over k. */
function choose(n, k) {
  let found = 1n;
  for (let i = 1; i <= k; i++) found = (found * BigInt(n - k + i)) / BigInt(i);
  return k < 0 || k > n ? 0n : found;
}

/**
 * Return the distribution of the number of own options in a report, at least `least`: `steps` of numbers and thresholds,
 * rarer numbers first; the `mode`, which needs no threshold; the `mean`; and in `best` the largest probability of one set,
 * as a fraction.
 */
function overlapCoins(domain, cap, count, least) {
  const ways = [];
  for (let h = least; h <= Math.min(cap, count); h++) ways.push([h, choose(cap, h) * choose(domain, count - h)]);
  ways.sort(([a, one], [b, other]) => (one < other ? -1 : one > other ? 1 : a - b));
  const [mode, most] = ways.pop();
  let total = ways.reduce((sum, [, way]) => sum + way, most);
  const steps = [];
  // `left` is the probability that no coin so far fell, over 2^coins.
  let [left, coins, best] = [1n, 0, [0n, 1n]];
  // The mean is only displayed, so a double is enough.
  let mean = 0;
  const take = (h, above, way) => {
    mean += h * approximate(above, 1n << BigInt(coins));
    const below = way << BigInt(coins);
    if (above * best[1] > best[0] * below) best = [above, below];
  };
  for (const [h, way] of ways) {
    const t = (way << 64n) / total;
    total -= way;
    if (t === 0n) continue;
    steps.push([h, split(t)]);
    coins += 64;
    take(h, left * t, way);
    left *= WORD - t;
  }
  take(mode, left, most);
  return { steps, mode, best, mean };
}

export function make(p, labels) {
  const base = sets(p, labels);
  const { domain, nameOf, bitsPart } = base;
  const cap = checkInteger("cap", p.cap, 1, Math.min(domain, 128));
  const count = checkInteger("size", p.size, 1, domain);
  const least = checkInteger("least", p.least, 1, Math.min(cap, count));
  if (p.over_cap !== "refuse" && p.over_cap !== "sample") {
    refuse("over_cap must be one of refuse, sample", p.over_cap);
  }
  if (base.paired && Math.min(cap, count) < 2) refuse("pairs need a cap and a size of at least 2", [cap, count]);
  const boost = threshold("boost", p.boost);
  const [integer, packed] = [bytesFor(domain + 1), (domain + 7) >> 3];
  const bitmap = count > 1 && packed <= count * integer;
  const entries = domain + cap;
  const { steps, mode, best, mean } = overlapCoins(domain, cap, count, least);
  const rest = (WORD - boost.big) * best[1];
  const any = (approximate(WORD - boost.big) * count) / entries;
  return {
    ...base,
    cap,
    width: bitmap ? packed : count * integer,
    epsilon: logUp(rest + boost.big * best[0] * choose(entries, count), rest),
    draw(held, draws) {
      const kept = held.length > cap ? samplePlaces(draws, held.length, cap).map((place) => held[place]) : held;
      let chosen;
      if (draws.coin(boost)) {
        const own = [...kept];
        for (let entry = domain; entry < entries - kept.length; entry++) own.push(entry);
        const h = steps.find(([, t]) => draws.coin(t))?.[0] ?? mode;
        const mine = new Set(own);
        chosen = samplePlaces(draws, cap, h).map((place) => own[place]);
        const others = Array.from({ length: entries }, (_, entry) => entry).filter((entry) => !mine.has(entry));
        chosen.push(...samplePlaces(draws, domain, count - h).map((place) => others[place]));
      } else {
        chosen = samplePlaces(draws, entries, count);
      }
      const shown = chosen.filter((entry) => entry < domain).sort((a, b) => a - b);
      if (bitmap) return packBits(domain, shown);
      return littleEndian(integer, ...shown, ...Array(count - shown.length).fill(domain));
    },
    notes: (value) =>
      value.length > cap
        ? [{ code: "over-cap", cap, kept: cap, message: `more than ${cap} options were chosen, and ${cap} of them were kept at random` }]
        : [],
    coins: { of: "chosen", own: (approximate(boost.big) * mean) / cap + any, other: (approximate(boost.big) * (count - mean)) / domain + any },
    caption: `Up to ${count} of the ${domain} options, drawn by chance, likelier to hold some that were chosen.`,
    parts(report) {
      if (bitmap) return [bitsPart("set", unpackBits(report, domain))];
      const shown = integers(report, integer, count).filter((option) => option < domain);
      if (domain <= 64) return [bitsPart("set", unpackBits(packBits(domain, shown), domain))];
      return [listPart("set", shown, nameOf)];
    },
  };
}

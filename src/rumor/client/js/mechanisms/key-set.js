/** Key sets: several signed keys at once, a person's own among them more often than others. */

import { bytesFor, integers, littleEndian } from "../bytes.js";
import { checkedLoss, approximate, checkInteger } from "../checks.js";
import { WORD } from "../randomness.js";
import { CAPPED, capped } from "./pairs.js";

export const keys = [...CAPPED, "size"];

const MOST_KEYS = 128;

/** Return the number of sets of `count` out of `total`. */
function choose(total, count) {
  let found = 1n;
  for (let i = 0; i < count; i++) found = (found * BigInt(total - i)) / BigInt(i + 1);
  return found;
}

export function make(p, labels) {
  const base = capped(p, labels);
  const { steps, cap, truth, itemPart } = base;
  const count = checkInteger("size", p.size, 1, Math.min(MOST_KEYS, base.keys));
  const all = base.keys + cap;
  // Sets that share no own signed key: of j own keys in it, each has the other sign.
  let missing = 0n;
  for (let j = 0; j <= Math.min(cap, count); j++) missing += (choose(cap, j) * choose(base.keys, count - j)) << BigInt(count - j);
  const sharing = (choose(all, count) << BigInt(count)) - missing;
  const integer = bytesFor(2 * all);
  const ascending = (chosen) => chosen.sort((a, b) => a - b);
  return {
    ...base,
    width: count * integer,
    epsilon: checkedLoss(truth.big * missing, (WORD - truth.big) * sharing),
    /** Draw a report. The number of draws depends on the coin, so all are made before anything is sent. */
    draw(held, draws) {
      const mine = held.length > cap ? ascending(draws.sample(held.length, cap)).map((place) => held[place]) : held;
      const own = new Set(mine.map(([key, step]) => 2 * key + Number(draws.below(steps) >= step)));
      for (let dummy = base.keys; dummy < all - mine.length; dummy++) own.add(2 * dummy);
      const want = draws.coin(truth);
      for (;;) {
        const items = ascending(draws.sample(all, count)).map((key) => 2 * key + draws.below(2));
        if (items.some((item) => own.has(item)) === want) return littleEndian(integer, ...items);
      }
    },
    coins: { of: "held", own: approximate(truth.big), other: null },
    caption: `${count} of the ${base.keys} keys (or of ${cap} that mean nothing), each with a plus or a minus: more often, but not surely, one that is held.`,
    // Keys without an output are not shown.
    parts: (report) => integers(report, integer, count).filter((item) => item < 2 * base.keys).map(itemPart),
  };
}

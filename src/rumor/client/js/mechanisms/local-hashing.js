/** Local hashing: a hash seed, and randomised response on the bucket of the value. */

import { bytesFor, concat, fromLittleEndian, littleEndian } from "../bytes.js";
import { checkedLoss, approximate, checkInteger, threshold } from "../checks.js";
import { choice } from "./labels.js";
import { WORD } from "../randomness.js";

export const keys = ["domain", "buckets", "truth"];

export function make(p, labels) {
  const base = choice(p.domain, 1e6, labels);
  const buckets = checkInteger("buckets", p.buckets, 2, 1 << 16);
  const truth = threshold("truth", p.truth);
  const half = base.domain <= 1 << 16 ? 4 : 8;
  const tail = bytesFor(buckets);
  const seedOf = (report) => {
    const view = new DataView(report.buffer, report.byteOffset);
    return [0, half].map((at) => (half === 4 ? BigInt(view.getUint32(at, true)) : view.getBigUint64(at, true)));
  };
  const odds = [truth.big * BigInt(buckets - 1), WORD - truth.big];
  const bucketOf = ([a, b], code) => Number((BigInt.asUintN(8 * half, a * BigInt(code) + b) * BigInt(buckets)) >> BigInt(8 * half));
  return {
    ...base,
    width: 2 * half + tail,
    epsilon: checkedLoss(...odds),
    odds,
    coins: { of: "box", own: approximate(truth.big), other: approximate(odds[1]) / (buckets - 1) },
    draw(code, draws) {
      const seed = draws.public(2 * half);
      const bucket = bucketOf(seedOf(seed), code);
      return concat(seed, littleEndian(tail, draws.coin(truth) ? bucket : draws.another(buckets, bucket)));
    },
    supports(report) {
      const [seed, box] = [seedOf(report), fromLittleEndian(report.subarray(2 * half))];
      return (code) => bucketOf(seed, code) === box;
    },
    caption: `A random way to sort all answers into ${buckets} boxes, and a box: yours or, by chance, another.`,
    parts(report) {
      const [a, b] = seedOf(report).map(String);
      return [
        { name: "a", kind: "text", value: a },
        { name: "b", kind: "text", value: b },
        { name: "box", kind: "number", value: fromLittleEndian(report.subarray(2 * half)) },
      ];
    },
  };
}

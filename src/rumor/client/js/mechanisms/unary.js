/** Unary encoding: a noisy bit for each value. */

import { bitAt, makeBits, unpackBits } from "../bytes.js";
import { checkedLoss, approximate, threshold } from "../checks.js";
import { choice } from "./labels.js";
import { WORD } from "../randomness.js";

export const keys = ["domain", "own", "other"];

export function make(p, labels) {
  const base = choice(p.domain, 1e5, labels);
  const { domain, bitsPart } = base;
  const [own, other] = [threshold("own", p.own), threshold("other", p.other)];
  const odds = [own.big * (WORD - other.big), other.big * (WORD - own.big)];
  return {
    ...base,
    width: (domain + 7) >> 3,
    epsilon: checkedLoss(...odds),
    odds,
    coins: { of: "bit", own: approximate(own.big), other: approximate(other.big) },
    draw: (code, draws) => makeBits(domain, (i) => draws.coin(i === code ? own : other)),
    supports: (report) => (code) => bitAt(report, code) === 1,
    caption: "A bit for each answer, every one of them noisy.",
    parts: (report) => [bitsPart("bits", unpackBits(report, domain))],
  };
}

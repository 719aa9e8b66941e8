/** Unary encoding: a noisy bit for each value. */

import { makeBits, unpackBits } from "../bytes.js";
import { loss, threshold } from "../checks.js";
import { choice } from "./labels.js";
import { WORD } from "../randomness.js";

export const keys = ["domain", "own", "other"];

export function make(p, labels) {
  const base = choice(p.domain, 1e5, labels);
  const { domain, drawn } = base;
  const [own, other] = [threshold("own", p.own), threshold("other", p.other)];
  return {
    ...base,
    width: (domain + 7) >> 3,
    epsilon: loss(own.big * (WORD - other.big), other.big * (WORD - own.big)),
    draw: (code, draws) => makeBits(domain, (i) => draws.coin(i === code ? own : other)),
    caption: "A bit for each answer, every one of them noisy.",
    parts: (report) => [drawn("bits", unpackBits(report, domain))],
  };
}

/** k-ary randomised response: the truth, or one of the others. */

import { bytesFor, fromLittleEndian, littleEndian } from "../bytes.js";
import { checkedLoss, approximate, threshold } from "../checks.js";
import { choice } from "./labels.js";
import { WORD } from "../randomness.js";

export const keys = ["domain", "truth"];

export function make(p, labels) {
  const base = choice(p.domain, 1e6, labels);
  const { domain, nameOf } = base;
  const truth = threshold("truth", p.truth);
  const width = bytesFor(domain);
  const odds = [truth.big * BigInt(domain - 1), WORD - truth.big];
  return {
    ...base,
    width,
    epsilon: checkedLoss(...odds),
    odds,
    coins: { of: "answer", own: approximate(truth.big), other: approximate(odds[1]) / (domain - 1) },
    draw: (code, draws) => littleEndian(width, draws.coin(truth) ? code : draws.another(domain, code)),
    supports(report) {
      const said = fromLittleEndian(report);
      return (code) => code === said;
    },
    caption: `One of the ${domain} answers: the true one or, by chance, another.`,
    parts: (report) => [{ name: "answer", kind: "text", value: nameOf(fromLittleEndian(report)) }],
  };
}

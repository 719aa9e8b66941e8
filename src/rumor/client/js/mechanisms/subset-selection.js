/** Subset selection: a random set of values that is likelier to hold the truth. */

import { bytesFor, integers, littleEndian, packBits, unpackBits } from "../bytes.js";
import { checkedLoss, approximate, checkInteger, threshold } from "../checks.js";
import { choice } from "./labels.js";
import { WORD } from "../randomness.js";

export const keys = ["domain", "size", "inclusion"];

export function make(p, labels) {
  const base = choice(p.domain, 1e5, labels);
  const { domain, nameOf, bitsPart } = base;
  const count = checkInteger("size", p.size, 1, domain - 1);
  const inclusion = threshold("inclusion", p.inclusion);
  const [integer, packed] = [bytesFor(domain), (domain + 7) >> 3];
  const bitmap = count > 1 && packed <= count * integer;
  const odds = [inclusion.big * BigInt(domain - count), (WORD - inclusion.big) * BigInt(count)];
  const setOf = (report) => (bitmap ? unpackBits(report, domain).flatMap((bit, code) => (bit ? [code] : [])) : integers(report, integer, count));
  return {
    ...base,
    width: bitmap ? packed : count * integer,
    epsilon: checkedLoss(...odds),
    odds,
    coins: { of: "set", own: approximate(inclusion.big), other: (count - approximate(inclusion.big)) / (domain - 1) },
    draw(code, draws) {
      const included = draws.coin(inclusion);
      const others = draws.sample(domain - 1, count - Number(included));
      const set = others.map((other) => other + Number(other >= code));
      if (included) set.push(code);
      return bitmap ? packBits(domain, set) : littleEndian(integer, ...set.sort((a, b) => a - b));
    },
    supports(report) {
      const set = new Set(setOf(report));
      return (code) => set.has(code);
    },
    caption: `A random set of ${count} of the ${domain} answers, likelier to hold the true one.`,
    parts(report) {
      if (bitmap) return [bitsPart("set", unpackBits(report, domain))];
      const set = integers(report, integer, count);
      if (domain <= 64) return [bitsPart("set", unpackBits(packBits(domain, set), domain))];
      return [{ name: "set", kind: "text", value: set.map(nameOf).join(", ") }];
    },
  };
}

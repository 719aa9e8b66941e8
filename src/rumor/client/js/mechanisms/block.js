/** Block: randomised response on the joint answer to a few publicly drawn options. */

import { bytesFor, concat, integers, littleEndian } from "../bytes.js";
import { checkedLoss, refuse, approximate, checkInteger, threshold } from "../checks.js";
import { WORD } from "../randomness.js";
import { SETS, samplePlaces, sets } from "./sets.js";

export const keys = [...SETS, "block", "truth"];

export function make(p, labels) {
  const base = sets(p, labels);
  const { domain, nameOf } = base;
  const block = checkInteger("block", p.block, 1, Math.min(domain, 8));
  if (base.paired && block < 2) refuse("pairs need a block of at least 2 options", block);
  const states = 2 ** block;
  const truth = threshold("truth", p.truth);
  const integer = bytesFor(domain);
  return {
    ...base,
    cap: domain,
    width: block * integer + 1,
    epsilon: checkedLoss(truth.big * BigInt(states - 1), WORD - truth.big),
    draw(held, draws) {
      const asked = samplePlaces(draws, domain, block);
      let state = asked.reduce((sum, option, i) => sum + (held.includes(option) ? 2 ** i : 0), 0);
      if (!draws.coin(truth)) state = draws.another(states, state);
      return concat(littleEndian(integer, ...asked), littleEndian(1, state));
    },
    coins: { of: "truth", own: approximate(truth.big), other: null },
    caption: `${block} of the ${domain} options, drawn by chance, and whether they were chosen: perhaps the truth.`,
    parts: (report) =>
      integers(report, integer, block).map((option, i) =>
        ({ name: nameOf(option), kind: "text", value: (report[block * integer] >> i) & 1 ? "chosen" : "not chosen" })),
  };
}

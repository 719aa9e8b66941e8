/** Basic RAPPOR: a bit for each answer of a known list, safe to ask again. */

import { packBits, unpackBits } from "./bytes.js";
import { choice } from "./labels.js";
import { NOISE, twoStage } from "./two-stage.js";

export const keys = ["domain", ...NOISE];

export function make(p, labels) {
  const base = choice(p.domain, 1e5, labels);
  const { domain, drawn } = base;
  const noise = twoStage(p, domain);
  const bit = (code, draws) => noise.settle(packBits(domain, [code]), draws);
  return {
    ...base,
    width: (domain + 7) >> 3,
    epsilon: noise.lossAfter(1, 1, 1),
    epsilonAfter: (n) => noise.lossAfter(n, 1, 1),
    once: noise.once,
    draw: (code, draws) => noise.report(bit(code, draws), draws),
    async answer(code, permanent, draws) {
      const kept = permanent.extend("permanent bits", noise.flip, domain, code);
      return noise.report(await kept.draw((own) => bit(code, own)), draws);
    },
    caption: "A bit for each answer, every one of them noisy; part of the noise stays the same.",
    parts: (report) => [drawn("bits", unpackBits(report, domain))],
  };
}

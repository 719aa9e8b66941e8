/** Basic RAPPOR: a bit for each answer of a known list, safe to ask again. */

import { bitAt, packBits, unpackBits } from "../bytes.js";
import { choice } from "./labels.js";
import { FRESH, NOISE, twoStage } from "./two-stage.js";

export const keys = ["domain", ...NOISE];
export const fresh = FRESH;

export function make(p, labels) {
  const base = choice(p.domain, 1e5, labels);
  const { domain, drawn } = base;
  const noise = twoStage(p, domain);
  const bit = (code, draws) => noise.settle(packBits(domain, [code]), draws);
  return {
    ...base,
    width: (domain + 7) >> 3,
    // Two values differ in two bits.
    epsilon: noise.lossTogether([[noise, 1]], 1, 1),
    epsilonTogether: (made) => noise.lossTogether(made.map(([one, n]) => [one.noise, n]), 1, 1),
    noise,
    settles: noise.permanent,
    // Without permanent noise each further report reveals as much again.
    once: !noise.permanent,
    draw: (code, draws) => noise.report(bit(code, draws), draws),
    settle: (code, _, kept) => kept.draw((own) => bit(code, own)),
    restate: (settled, draws) => noise.report(settled, draws),
    odds: noise.odds,
    coins: { of: "bit", ...noise.coins },
    supports: (report) => (code) => bitAt(report, code) === 1,
    caption: "A bit for each answer, every one of them noisy; part of the noise stays the same.",
    parts: (report) => [drawn("bits", unpackBits(report, domain))],
  };
}

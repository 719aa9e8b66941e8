/** Basic RAPPOR: a bit for each answer of a known list, safe to ask again. */

import { bitAt, packBits, unpackBits } from "../bytes.js";
import { choice } from "./labels.js";
import { IRR_KEYS, NOISE_KEYS, twoStage } from "./two-stage.js";

export const keys = ["domain", ...NOISE_KEYS];
export const instantaneous = IRR_KEYS;

export function make(p, labels) {
  const base = choice(p.domain, 1e5, labels);
  const { domain, bitsPart } = base;
  const noise = twoStage(p, domain);
  const bit = (code, draws) => noise.drawPermanent(packBits(domain, [code]), draws);
  return {
    ...base,
    width: (domain + 7) >> 3,
    // Two values differ in two bits.
    epsilon: noise.lossTogether([[noise, 1]], 1, 1),
    epsilonComposed: (made) => noise.lossTogether(made.map(([one, n]) => [one.noise, n]), 1, 1),
    noise,
    isMemoised: noise.isMemoised,
    // Without permanent noise each further report reveals as much again.
    isOneTime: !noise.isMemoised,
    draw: (code, draws) => noise.drawInstantaneous(bit(code, draws), draws),
    drawPermanent: (code, _, noiseKey) => noiseKey.draw((own) => bit(code, own)),
    reportPermanent: (settled, draws) => noise.drawInstantaneous(settled, draws),
    odds: noise.odds,
    coins: { of: "bit", ...noise.coins },
    supports: (report) => (code) => bitAt(report, code) === 1,
    caption: "A bit for each answer, every one of them noisy; part of the noise stays the same.",
    parts: (report) => [bitsPart("bits", unpackBits(report, domain))],
  };
}

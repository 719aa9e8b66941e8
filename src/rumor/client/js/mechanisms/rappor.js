/** RAPPOR: words from an open vocabulary, as noisy bits of a Bloom filter. */

import {
  bytesFor, concat, fromHex, fromLittleEndian, littleEndian, packBits, unpackBits, utf8,
} from "../bytes.js";
import { refuse, refuseAnswer, checkInteger } from "../checks.js";
import { typeOf } from "../errors.js";
import { sha256 } from "../host.js";
import { mix64 } from "./mix64.js";
import { IRR_KEYS, NOISE_KEYS, twoStage } from "./two-stage.js";

export const keys = ["bits", "hashes", "cohorts", "key", ...NOISE_KEYS];
export const instantaneous = IRR_KEYS;

export function make(p) {
  const count = checkInteger("bits", p.bits, 2, 1 << 16);
  const hashes = checkInteger("hashes", p.hashes, 1, 64);
  const cohorts = checkInteger("cohorts", p.cohorts, 1, Math.floor((1 << 24) / count));
  if (typeof p.key !== "string" || !/^([0-9a-f]{2})+$/.test(p.key)) refuse("key must be hexadecimal", p.key);
  const key = fromHex(p.key);
  const noise = twoStage(p, count);
  const head = cohorts === 1 ? 0 : bytesFor(cohorts);
  const more = Math.min(hashes, count);
  const less = Math.min(hashes, count - more);
  // If the filter is too small for both words' bits, they are shared so that the loss is largest.
  const lossTogether = (made) =>
    Math.max(noise.lossTogether(made, more, less), noise.lossTogether(made, less, more));
  const filter = ([s0, s1], cohort) =>
    packBits(count, Array.from({ length: hashes }, (_, i) =>
      Number(mix64(s0 ^ mix64(s1 + BigInt(cohort * hashes + i))) % BigInt(count))));
  const join = (cohort, bits) => concat(littleEndian(head, cohort), bits);
  return {
    kind: "text",
    width: head + ((count + 7) >> 3),
    epsilon: lossTogether([[noise, 1]]),
    epsilonComposed: (made) => lossTogether(made.map(([one, n]) => [one.noise, n])),
    noise,
    isMemoised: noise.isMemoised,
    // Without permanent noise each further report reveals as much again.
    isOneTime: !noise.isMemoised,
    /** Return the seed of a word: two 64-bit integers of its hash. */
    async encode(value) {
      if (typeof value !== "string") refuseAnswer("a word must be a text", typeOf(value));
      const { buffer } = await sha256(littleEndian(4, key.length), key, utf8(value.normalize("NFC")));
      const words = new DataView(buffer);
      return [words.getBigUint64(0, true), words.getBigUint64(8, true)];
    },
    identity: (_, value) => value.normalize("NFC"),
    filter,
    draw(seed, draws) {
      const cohort = draws.below(cohorts);
      return join(cohort, noise.drawInstantaneous(noise.drawPermanent(filter(seed, cohort), draws), draws));
    },
    /** Draw the cohort, which does not depend on the value, and the permanent bits. */
    async drawPermanent(seed, person, noiseKey) {
      const cohort = await person.extend("cohort", cohorts).draw((own) => own.below(cohorts));
      return join(cohort, await noiseKey.draw((own) => noise.drawPermanent(filter(seed, cohort), own)));
    },
    reportPermanent: (settled, draws) => concat(settled.subarray(0, head), noise.drawInstantaneous(settled.subarray(head), draws)),
    coins: { of: "word", ...noise.coins },
    caption: "The number of a group drawn by chance, and noisy bits that many words could have set.",
    parts: (report) => [
      ...(head ? [{ name: "group", kind: "number", value: fromLittleEndian(report.subarray(0, head)) }] : []),
      { name: "bits", kind: "bits", value: unpackBits(report.subarray(head), count) },
    ],
  };
}

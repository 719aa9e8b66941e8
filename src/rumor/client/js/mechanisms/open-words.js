/** Open words: a noisy hash of a word's prefix, whose depth is drawn for each respondent. */

import { bytesFor, fromHex, fromLittleEndian, littleEndian, utf8 } from "../bytes.js";
import { checkedLoss, refuse, refuseAnswer, approximate, checkInteger, threshold } from "../checks.js";
import { typeOf } from "../errors.js";
import { sha256 } from "../host.js";
import { encodeContext, WORD } from "../randomness.js";
import { mix64 } from "./mix64.js";
import { normalise, prefixCode } from "./prefix-code.js";

export const keys = ["code", "step", "weights", "cohorts", "buckets", "key", "truth"];

const GOLDEN = 0x9e3779b97f4a7c15n;
const UNNAMED = "the word does not fit this question: it is counted, and will not be named";

export function make(p) {
  const write = prefixCode(p.code);
  const step = checkInteger("step", p.step, 1, 16);
  const plain = Array.isArray(p.weights) && p.weights.length >= 2 && p.weights.length <= 64;
  if (!plain) refuse("weights must be a list of 2 to 64 weights of levels, that of whole words last", p.weights);
  const weights = p.weights.map((weight) => checkInteger("a weight", weight, 1, 1 << 10));
  const cohorts = checkInteger("cohorts", p.cohorts, 1, 1 << 12);
  const buckets = checkInteger("buckets", p.buckets, 2, 1 << 16);
  const counters = checkInteger("levels times cohorts times buckets", weights.length * cohorts * buckets, 4, 1 << 24);
  if (typeof p.key !== "string" || !/^([0-9a-f]{2})+$/.test(p.key)) refuse("key must be hexadecimal", p.key);
  const key = fromHex(p.key);
  const truth = threshold("truth", p.truth);
  const depth = weights.length - 1;
  const total = weights.reduce((sum, weight) => sum + weight);
  const width = bytesFor(counters);
  const epsilon = checkedLoss(truth.big * BigInt(buckets - 1), WORD - truth.big);

  /** Return the hashes of a word's prefixes, one for each level; the last level is the whole word. */
  const prefixHashes = (word, root, whole) => {
    const { bits, length, ended } = write(word, step * depth);
    const found = [];
    let here = root;
    for (let at = 0; at < length; at += step) {
      if (at + step > length && !ended) break;
      const shift = BigInt(length - at - step);
      const chunk = BigInt.asUintN(step, shift >= 0n ? bits >> shift : bits << -shift);
      here = mix64(here + GOLDEN * (chunk + 1n));
      found.push(here);
    }
    while (found.length < depth) found.push(ended ? here : whole);
    return [...found, whole];
  };
  const bucketOf = ({ prefixes, seeds }, level, cohort) => {
    const seed = seeds[level] + BigInt(2 * cohort);
    const hashed = BigInt.asUintN(64, (mix64(seed) | 1n) * prefixes[level] + mix64(seed + 1n));
    return Number(((hashed >> 32n) * BigInt(buckets)) >> 32n);
  };
  const levelOf = (draws) => {
    const place = draws.below(total);
    let [level, end] = [0, weights[0]];
    while (place >= end) end += weights[++level];
    return level;
  };
  const drawReport = (word, level, cohort, draws) => {
    const own = bucketOf(word, level, cohort);
    const bucket = draws.coin(truth) ? own : draws.another(buckets, own);
    return littleEndian(width, (level * cohorts + cohort) * buckets + bucket);
  };
  return {
    kind: "words",
    width,
    epsilon,
    // Further reports of one word are copies of the first, and say nothing more.
    epsilonComposed: () => epsilon,
    isMemoised: true,
    /** Return the prefix hashes of a word, and the seeds of the bucket hashes. */
    async encode(value) {
      if (typeof value !== "string") refuseAnswer("a word must be a text", typeOf(value));
      const word = normalise(value);
      const root = await digest("rumor open words: stems", key);
      const whole = await digest("rumor open words: word", key, utf8(word));
      const seeds = await Promise.all(weights.map((_, level) => digest("rumor open words: hashes", key, level)));
      return { prefixes: prefixHashes(word, root, whole), seeds };
    },
    identity: (_, value) => normalise(value),
    /** Note a word that is counted but cannot be found: too long, or with characters that the code lacks. */
    notes: (value) => (write(normalise(value), step * depth).ended ? [] : [{ code: "unnamed", message: UNNAMED }]),
    draw(word, draws) {
      const level = levelOf(draws);
      return drawReport(word, level, draws.below(cohorts), draws);
    },
    /** Draw level and cohort, which do not depend on the value, and the permanent bucket. */
    async drawPermanent(word, person, noiseKey) {
      const level = await person.extend("level", weights.join(",")).draw(levelOf);
      const cohort = await person.extend("cohort", cohorts).draw((own) => own.below(cohorts));
      return noiseKey.draw((own) => drawReport(word, level, cohort, own));
    },
    reportPermanent: (report) => report,
    coins: { of: "box", own: approximate(truth.big), other: approximate(WORD - truth.big) / (buckets - 1) },
    caption:
      `How much of the word is looked at and a way to sort words into ${buckets} boxes, both drawn by chance, ` +
      "and a box: your word's or, by chance, another.",
    parts(report) {
      const place = fromLittleEndian(report);
      const rest = Math.floor(place / buckets);
      return [
        { name: "level", kind: "number", value: Math.floor(rest / cohorts) },
        { name: "group", kind: "number", value: rest % cohorts },
        { name: "box", kind: "number", value: place % buckets },
      ];
    },
  };
}

/** Return the first eight bytes of the hash of a context as a number. */
async function digest(...context) {
  const { buffer } = await sha256(encodeContext(context));
  return new DataView(buffer).getBigUint64(0, true);
}

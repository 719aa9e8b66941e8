/** The client held to the shared vectors, in any engine. */

import { fromHex, toHex, utf8 } from "../../../src/rumor/client/js/bytes.js";
import { RumorError } from "../../../src/rumor/client/js/errors.js";
import { makeMechanism } from "../../../src/rumor/client/js/mechanisms.js";
import { keysOf } from "../../../src/rumor/client/js/permanent.js";
import { Keyed, split } from "../../../src/rumor/client/js/randomness.js";

const checked = {};
const different = [];
const mechanisms = {};
const refused = {};
/** Whose vectors are compared now: a mechanism's name, or "randomness". */
let of = "";

function same(what, found, expected) {
  checked[what] = (checked[what] ?? 0) + 1;
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) different.push({ of, what, found: a, expected: b });
}

/** Values of vectors as the client takes them: a table's row is an object of its keys. */
const asValue = (value, { kind }) =>
  Array.isArray(value) && kind === "keyvalue"
    ? Object.fromEntries(value.map((cell, key) => [key, cell]).filter(([, cell]) => cell !== null))
    : value;

async function report(mechanism, value, keyed) {
  const code = await mechanism.encode(asValue(value, mechanism));
  return toHex(await keyed.draw((draws) => mechanism.draw(code, draws)));
}

/**
 * Compare the published `documents` (by their names) with what the client makes. Returns what was checked and what differs,
 * and of each mechanism its kind and how many reports were drawn again; where the client refuses one, why.
 */
export async function compare(documents) {
  await compareMechanisms(documents.client);
  if (documents.randomness) await compareSteps(documents);
  // The first few differences of each mechanism: a report needs no more.
  const first = different.filter((one, place) => different.slice(0, place).filter((other) => other.of === one.of).length < 5);
  return { checked, mechanisms, refused, different: first, count: different.length };
}

/** Compare reports, widths, losses and permanent answers of every mechanism. */
async function compareMechanisms(client) {
  const secret = fromHex(client.secret);
  for (const vector of client.vectors) {
    const { name } = vector.mechanism;
    of = name;
    const mechanism = await makeMechanism(vector.mechanism, vector.labels).catch((problem) => {
      if (!(problem instanceof RumorError)) throw problem;
      refused[name] ??= problem.message;
    });
    if (!mechanism) continue;
    mechanisms[name] ??= { kind: mechanism.kind, reports: 0 };
    same("width", mechanism.width, vector.width);
    same("cell", mechanism.memoDigest, vector.cell);
    same("epsilon", mechanism.epsilon, vector.losses[1]);
    for (const [n, loss] of Object.entries(vector.losses)) same("loss", mechanism.epsilonAfter(Number(n)), loss);
    for (const [n, loss] of Object.entries(vector.in_all)) same("in all", mechanism.epsilonAllRounds(Number(n)), loss);
    for (const { fresh, made, loss } of vector.mixed ?? []) {
      const other = await makeMechanism({ ...vector.mechanism, ...fresh }, vector.labels);
      same("cell", other.memoDigest, vector.cell);
      same("mixed", mechanism.epsilonComposed([[mechanism, made[0]], [other, made[1]]]), loss);
    }
    const [, series, question] = vector.permanent;
    const keysFor = async (value) => {
      const code = await mechanism.encode(value);
      return { code, ...keysOf(secret, series, question, mechanism.memoDigest, mechanism.identity(code, value)) };
    };
    for (const { value, tag, period } of vector.settled ?? []) {
      const keys = await keysFor(value);
      same("tag", toHex((await keys.tag.digest()).slice(0, 16)), tag);
      same("period", toHex(await mechanism.drawPermanent(keys.code, keys.person, keys.noiseIn(vector.period))), period);
    }
    for (const { value, context, report: expected, answer } of vector.reports) {
      const keyed = new Keyed(secret, ...context);
      same("report", await report(mechanism, value, keyed), expected);
      mechanisms[name].reports++;
      if (!mechanism.drawPermanent) continue;
      const { code, person, noise } = await keysFor(value);
      same("context", person.context, vector.permanent);
      const settled = await mechanism.drawPermanent(code, person, noise);
      const answered = await keyed.draw((draws) => mechanism.reportPermanent(settled, draws));
      same("answer", toHex(answered), answer);
    }
  }
}

/** Compare what is published on its own: contexts, keystreams, steps of draws, means, Bloom filters. */
async function compareSteps(documents) {
  of = "randomness";
  const randomness = documents.randomness;
  const other = fromHex(randomness.secret);
  for (const { context, seed, words } of randomness.keyed) {
    const keyed = new Keyed(other, ...context);
    same("seed", toHex(await keyed.digest()), seed);
    const bytes = await keyed.draw((draws) => draws.public(8 * words.length));
    const view = new DataView(bytes.buffer);
    same("words", words.map((_, i) => String(view.getBigUint64(8 * i, true))), words);
  }
  for (const { seed, answers } of randomness.draws) {
    class Fixed extends Keyed {
      digest() {
        return fromHex(seed);
      }
    }
    const found = await new Fixed(other).draw((draws) =>
      randomness.steps.map((step) => {
        if (step.coin) return String(Number(draws.coin(split(BigInt(step.coin)))));
        if (step.below) return draws.below(BigInt(step.below));
        return toHex(draws.public(Number(step.public)));
      }),
    );
    // Integers above 2^53 are no longer exact here, and no mechanism draws such.
    const expected = answers.map((answer, i) => (randomness.steps[i].below ? Number(BigInt(answer)) : answer));
    same("draws", found, expected);
  }
  for (const { mechanism, value, context, report: expected } of randomness.reports) {
    of = mechanism.name;
    same("report", await report(await makeMechanism(mechanism), value, new Keyed(other, ...context)), expected);
  }

  // Means and key-value data, published on their own.
  const test = utf8("rumor test vector");
  for (const { mechanism, value, context, report: expected } of documents.numeric.vectors) {
    of = mechanism.name;
    same("report", await report(await makeMechanism(mechanism), value, new Keyed(test, ...context)), expected);
  }

  // Bloom filters.
  of = "rappor";
  for (const { key, bits, hashes, cohorts, word, seed, filters } of documents.bloom) {
    const noise = { flip: "1", low: "1", high: "2" };
    const mechanism = await makeMechanism({ name: "rappor", bits, hashes, cohorts, key, ...noise });
    const found = await mechanism.encode(word);
    same("word", found.map(String), seed);
    same("filter", filters.map((_, cohort) => toHex(mechanism.filter(found, cohort))), filters);
  }
}

/**
 * What the client makes of many things at once: { mechanisms, contracts, answers, states } on the standard input; for each of
 * them what it is, or the sentence that refuses it, on the standard output.
 */

import { readFileSync } from "node:fs";

import { toHex } from "../../src/rumor/client/js/bytes.js";
import { parseContract } from "../../src/rumor/client/js/contract.js";
import { RumorError } from "../../src/rumor/client/js/errors.js";
import { makeMechanism } from "../../src/rumor/client/js/mechanisms.js";
import { checkedState } from "../../src/rumor/client/js/state.js";
import { Keyed } from "../../src/rumor/client/js/randomness.js";

const secret = new TextEncoder().encode("what both clients draw");
// JSON has no such numbers.
const NUMBERS = { NaN, Infinity, "-Infinity": -Infinity };
const plain = (value) =>
  value?.number in NUMBERS ? NUMBERS[value.number]
  : value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]))
  : value;

const MAKES = {
  mechanisms: async ([description, labels]) => {
    const { kind, epsilon, width, memoDigest } = await makeMechanism(description, labels);
    return [kind, epsilon, width, memoDigest];
  },
  contracts: async (document) => (await parseContract(document)).digest,
  answers: async ([description, labels, value, context]) => {
    const mechanism = await makeMechanism(description, labels);
    const code = await mechanism.encode(plain(value));
    const notes = (mechanism.notes?.(plain(value)) ?? []).map(({ message }) => message);
    return [mechanism.drawPermanent ? null : toHex(await new Keyed(secret, ...context).draw((draws) => mechanism.draw(code, draws))), notes];
  },
  states: async (state) => (checkedState(state), true),
};

const given = JSON.parse(readFileSync(0, "utf8"));
const found = {};
for (const [name, make] of Object.entries(MAKES)) {
  found[name] = [];
  for (const each of given[name] ?? []) {
    try {
      found[name].push((await make(each)) ?? null);
    } catch (problem) {
      if (!(problem instanceof RumorError)) throw problem;
      found[name].push({ refused: problem.message });
    }
  }
}
console.log(JSON.stringify(found));

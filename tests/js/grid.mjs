/**
 * On which step each value stands: a JSON list of [mechanism, labels, values] on the standard input, doubles
 * written as the hexadecimal digits of their bytes; for each the steps, or the sentence that refuses it.
 */

import { readFileSync } from "node:fs";

import { RumorError } from "../../src/rumor/client/js/errors.js";
import { makeMechanism } from "../../src/rumor/client/js/mechanisms.js";

const double = (hex) => new DataView(Uint8Array.from(hex.match(/../g), (b) => parseInt(b, 16)).buffer).getFloat64(0);

/** Mechanisms for one number take it; those for pairs take it as the number of their only key. */
async function step(mechanism, value) {
  if (mechanism.kind === "number") return mechanism.encode(value);
  const [[, found]] = [...(await mechanism.encode({ 0: value }))];
  return found;
}

const results = [];
for (const { mechanism: description, values } of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const range = description.range.map((end) => (typeof end === "string" && end.length === 16 ? double(end) : end));
    const mechanism = await makeMechanism({ ...description, range });
    results.push(await Promise.all(values.map((value) => step(mechanism, double(value)))));
  } catch (problem) {
    if (!(problem instanceof RumorError)) throw problem;
    results.push(problem.message);
  }
}
console.log(JSON.stringify(results));

/**
 * Draws from given words: a JSON object { words, asks } on the standard input, the answers and how
 * many words are left on the standard output. Words and thresholds are decimal texts.
 */

import { readFileSync } from "node:fs";

import { Draws, split } from "../../src/rumor/client/js/randomness.js";

const { words, asks } = JSON.parse(readFileSync(0, "utf8"));
let taken = 0;
const draws = new Draws(() => {
  if (taken === words.length) throw new Error("the script is over");
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(words[taken++]), true);
  return bytes;
});
const ANSWERS = {
  coin: (threshold) => Number(draws.coin(split(BigInt(threshold)))),
  below: (bound) => draws.below(Number(bound)),
};
const answers = asks.map(([kind, argument]) => ANSWERS[kind](argument));
process.stdout.write(JSON.stringify({ answers, left: words.length - taken }));

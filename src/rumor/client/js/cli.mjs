#!/usr/bin/env node
/**
 * Write reports of one value to the standard output, so that this client can be audited as a black box:
 *
 *     node cli.mjs contract.json question value count > reports
 *
 * A choice is given by its number or label, a text or a number as it is, and pairs as KEY:NUMBER,KEY:NUMBER... with keys by
 * number or label. Every report is drawn as if of another respondent.
 */

import { readFileSync, writeSync } from "node:fs";

import { mechanismOf, parseContract } from "./contract.js";
import { RumorError } from "./errors.js";
import { KINDS } from "./kinds.js";
import { systemDraws } from "./randomness.js";

const USAGE = "the arguments must be: contract.json question value count";

function writeAll(bytes) {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (problem) {
      if (problem.code !== "EAGAIN") throw problem; // the pipe is full
    }
  }
}

async function main([file, id, text, times]) {
  const count = Number(times);
  if (!Number.isInteger(count) || count < 0) {
    throw new RumorError("answer", `${USAGE}; got ${process.argv.length - 2} of them`);
  }
  const question = (await parseContract(readFileSync(file, "utf8"))).question(id);
  const { draw, encode, width } = mechanismOf(question);
  const { parseAnswer } = await KINDS[question.kind].load();
  const code = await encode(await parseAnswer(question, text));
  const [draws, out] = [systemDraws(8192), new Uint8Array(count * width)];
  for (let i = 0; i < count; i++) out.set(draw(code, draws), i * width);
  writeAll(out);
}

try {
  await main(process.argv.slice(2));
} catch (problem) {
  console.error(problem.message);
  process.exitCode = 2;
}

/**
 * Take steps with the client as they come: a JSON object on each line of the standard input, what came
 * of it on a line of the standard output. A refusal is a result; anything else ends the talk.
 */

import { createInterface } from "node:readline";

import { take } from "./steps.mjs";

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await take(JSON.parse(line)))}\n`);
}

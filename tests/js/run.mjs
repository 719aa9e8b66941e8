/**
 * Take steps with the client and say what came of each: a JSON list of steps on the standard input,
 * a JSON list of results on the standard output. A refusal is a result; anything else ends the run.
 */

import { readFileSync } from "node:fs";

import { take } from "./steps.mjs";

const results = [];
for (const step of JSON.parse(readFileSync(0, "utf8"))) results.push(await take(step));
console.log(JSON.stringify(results));

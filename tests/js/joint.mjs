/**
 * Joint answers as the client reads them: { mechanism, parts, answers, typed } on the standard input; what
 * tells each answer from others, and the sentence that refuses each that was typed, on the standard output.
 */

import { readFileSync } from "node:fs";

import { parseAnswer } from "../../src/rumor/client/js/kinds/joint.js";
import { makeMechanism } from "../../src/rumor/client/js/mechanisms.js";

const given = { answers: [], typed: [], ...JSON.parse(readFileSync(0, "utf8")) };
const made = given.mechanism && (await makeMechanism(given.mechanism, given.parts));
const read = given.answers.map((answer) => made.identity(made.encode(answer)));
const refused = given.typed.map((text) => {
  try {
    return void parseAnswer(given, text);
  } catch (problem) {
    return problem.message;
  }
});
console.log(JSON.stringify({ read, refused }));

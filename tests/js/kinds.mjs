/**
 * What the client knows of each kind of question, and typed answers as it reads them: a JSON list of
 * [kind, labels, text] on the standard input; a question with more than labels may stand in their place.
 */

import { readFileSync } from "node:fs";

import { KINDS } from "../../src/rumor/client/js/kinds.js";

const typed = await Promise.all(JSON.parse(readFileSync(0, "utf8")).map(async ([kind, labels, text]) =>
  (await KINDS[kind].load()).parseAnswer(labels?.parts ? labels : { labels }, text)));
const kinds = Object.entries(KINDS).map(([name, { contractFields, borrows = null }]) => [name, contractFields, borrows]);
console.log(JSON.stringify({ kinds, typed }));

/** What the client makes of the vectors of tokens: JSON on the standard input, JSON on the standard output. */

import { readFileSync } from "node:fs";

import { makeTokens } from "./device/tokens.js";

console.log(JSON.stringify(await makeTokens(JSON.parse(readFileSync(0, "utf8")))));

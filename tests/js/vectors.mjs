/** Hold the client to the shared vectors: node vectors.mjs FOLDER. Prints what differs, as JSON (device/vectors.js). */

import { readFileSync } from "node:fs";

import { compare } from "./device/vectors.js";

const names = ["client", "randomness", "numeric", "bloom"];
const documents = names.map((name) => [name, JSON.parse(readFileSync(`${process.argv[2]}/${name}.json`, "utf8"))]);
console.log(JSON.stringify(await compare(Object.fromEntries(documents))));

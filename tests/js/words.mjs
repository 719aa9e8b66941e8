/** What each language of the answer page holds: every name with the kind of its value, and of sentences how many things they take. */

import { readFileSync } from "node:fs";

/** Captions are left out: a mechanism that nobody described yet has its English one. */
const shape = (table) =>
  Object.entries(table).flatMap(([name, value]) => {
    if (name === "captions") return [];
    if (typeof value === "object") return shape(value).map((inner) => `${name}.${inner}`);
    return [typeof value === "function" ? `${name} takes ${value.length}` : `${name} ${typeof value}`];
  }).sort();

const found = {};
for (const path of JSON.parse(readFileSync(0, "utf8"))) {
  const words = (await import(path)).default;
  found[path] = { name: words.name, tag: words.tag, title: words.title, lead: words.lead, shape: shape(words), captions: Object.keys(words.captions) };
}
console.log(JSON.stringify(found));

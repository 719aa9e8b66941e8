/**
 * Scripts in a world of Node that has the language alone, driven line by line: node node.mjs FILE... Of the first line on, each
 * line of the standard input is an expression's function and its text (JSON); `ask` writes a line and reads its answer.
 *
 * Each global that is Node's or a browser's, and not the language's, is there to be noticed: what was touched is printed at
 * the end.
 */

import { readFileSync, readSync, writeSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

import { FOREIGN } from "./foreign.mjs";

const byte = new Uint8Array(1);

function readLine() {
  const bytes = [];
  while (readSync(0, byte, 0, 1) === 1) {
    if (byte[0] === 10) return Buffer.from(bytes).toString("utf8");
    bytes.push(byte[0]);
  }
  return null;
}
function writeLine(text) {
  const bytes = Buffer.from(`${text}\n`);
  for (let at = 0; at < bytes.length; at += writeSync(1, bytes, at));
}

const touched = new Set();
const world = createContext(Object.create(null));
for (const name of FOREIGN) {
  Object.defineProperty(world, name, { configurable: true, get: () => void touched.add(name) });
}
world.ask = (text) => {
  writeLine(`ask ${text}`);
  return readLine();
};
for (const file of process.argv.slice(2)) runInContext(readFileSync(file, "utf8"), world, { filename: file });
for (let line = readLine(); line !== null; line = readLine()) {
  const { name, text } = JSON.parse(line);
  writeLine(name === "touched" ? `done ${JSON.stringify([...touched])}` : `done ${runInContext(name, world)(text)}`);
}

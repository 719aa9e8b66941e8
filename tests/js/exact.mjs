/** Exact arithmetic on what the standard input gives (integers as texts), as JSON. */

import { readFileSync } from "node:fs";

import { exceeds, logUp, sumUp, totalUp } from "../../src/rumor/client/js/exact.js";
import { makeMechanism } from "../../src/rumor/client/js/mechanisms.js";

const { logs, sums, totals, ceilings, together } = JSON.parse(readFileSync(0, "utf8"));

async function lossOf(made) {
  const loaded = await Promise.all(made.map(async ([description, n]) => [await makeMechanism(description), n]));
  return loaded[0][0].epsilonComposed(loaded);
}

console.log(JSON.stringify({
  logs: logs.map(([above, below]) => logUp(BigInt(above), BigInt(below))),
  sums: sums.map(sumUp),
  totals: totals.map(totalUp),
  ceilings: ceilings.map(([losses, ceiling]) => exceeds(losses, ceiling)),
  together: await Promise.all(together.map(lossOf)),
}));

/**
 * Of mechanisms and some of their reports, { mechanism, values, reports } each on the standard input: how likely each
 * value sends each report, times a common factor, whether it is supported, and the coins; null where the client has no list.
 */

import { readFileSync } from "node:fs";

import { fromHex } from "../../src/rumor/client/js/bytes.js";
import { makeMechanism } from "../../src/rumor/client/js/mechanisms.js";

const found = [];
for (const { mechanism, values, reports } of JSON.parse(readFileSync(0, "utf8"))) {
  const { supports, odds, coins = null, encode } = await makeMechanism(mechanism);
  const row = (report) => values.map((value) => supports(fromHex(report))(encode(value)));
  found.push({ coins, odds: odds?.map(String) ?? null, supported: supports ? reports.map(row) : null });
}
console.log(JSON.stringify(found));

/**
 * Of mechanisms and some of their reports, { mechanism, values, reports } each on the standard input: how likely each
 * value sends each report, times a common factor, whether it is supported (null where the client has no list), the coins of
 * each report, and what it says.
 */

import { readFileSync } from "node:fs";

import { fromHex } from "../../src/rumor/client/js/bytes.js";
import { makeMechanism } from "../../src/rumor/client/js/mechanisms.js";

const found = [];
for (const { mechanism, values, reports } of JSON.parse(readFileSync(0, "utf8"))) {
  const { supports, odds, coins = null, encode, parts } = await makeMechanism(mechanism);
  const row = (report) => values.map((value) => supports(fromHex(report))(encode(value)));
  const said = reports.map((report) => parts(fromHex(report)));
  const each = reports.map((report) => (typeof coins === "function" ? coins(fromHex(report)) : coins));
  found.push({ coins: each, said, odds: odds?.map(String) ?? null, supported: supports ? reports.map(row) : null });
}
console.log(JSON.stringify(found));

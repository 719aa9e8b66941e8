/**
 * Trial reports of an answer, which are never sent: they show a respondent how noise changes it. Nothing of them is stored
 * or counted. Memoised noise is drawn from a fresh random secret, so a trial report tells nothing about the real one.
 */

import { toHex } from "./bytes.js";
import { mechanismOf } from "./contract.js";
import { randomBytes } from "./host.js";
import { keysOf } from "./permanent.js";
import { systemDraws } from "./randomness.js";

/**
 * Draw `count` independent reports of the answer `value` to `question`.
 * @returns {Promise<Uint8Array[]>}
 */
export async function drawTrialReports(question, value, count) {
  const mechanism = mechanismOf(question);
  const encoded = await mechanism.encode(value);
  const reports = [];
  for (let i = 0; i < count; i++) {
    if (!mechanism.drawPermanent) reports.push(mechanism.draw(encoded, systemDraws()));
    else {
      const secret = randomBytes(32);
      const keys = keysOf(secret, "rehearsal", question.id, toHex(secret), mechanism.identity(encoded, value));
      reports.push(mechanism.reportPermanent(await mechanism.drawPermanent(encoded, keys.person, keys.noise), systemDraws()));
    }
  }
  return reports;
}

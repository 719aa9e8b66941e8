/**
 * Reports of an answer that are never sent, so that a person sees what chance makes of it. Nothing of them is
 * kept or counted: the noise is that of people who do not exist, and tells nothing of the one that will be drawn.
 */

import { toHex } from "./bytes.js";
import { mechanismOf } from "./contract.js";
import { keysOf } from "./permanent.js";
import { systemDraws } from "./randomness.js";

/** So many reports of an answer. @returns {Promise<Uint8Array[]>} */
export async function drawTrialReports(question, value, times) {
  const mechanism = mechanismOf(question);
  const encoded = await mechanism.encode(value);
  const reports = [];
  for (let i = 0; i < times; i++) {
    if (!mechanism.drawPermanent) reports.push(mechanism.draw(encoded, systemDraws()));
    else {
      const nobody = crypto.getRandomValues(new Uint8Array(32));
      const keys = keysOf(nobody, "rehearsal", question.id, toHex(nobody), mechanism.identity(encoded, value));
      reports.push(mechanism.reportPermanent(await mechanism.drawPermanent(encoded, keys.person, keys.noise), systemDraws()));
    }
  }
  return reports;
}

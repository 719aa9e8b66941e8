/** Requests for consent to a higher limit of a series; loaded when one is needed. */

import { RumorError } from "./errors.js";
import { sumUp } from "./exact.js";
import { setPin } from "./ledger.js";
import { lossOfContract } from "./loss.js";
import { scopeOf } from "./pins.js";

/**
 * Ask for consent, and store it with `keep`. Returns true after a yes and false where there is nothing to ask; throws after a no.
 * @param {object} contract
 * @param {{ spent: number, after: number, message: string }} reached the limit that was reached
 * @param {object | undefined} pin the pin of the series
 * @param {string[]} questions the ids of the assigned questions
 * @param {((change: object) => boolean | Promise<boolean>) | undefined} consent
 * @param {(work: (state: object) => Promise<void>) => Promise<void>} keep
 */
export async function requestConsent(contract, reached, pin, questions, consent, keep) {
  // If the revision states no limit, it is the epsilon spent and the most that the revision can add.
  const wanted = contract.series_epsilon ?? sumUp([reached.spent, lossOfContract(contract, questions).ceiling]);
  if (!pin || wanted <= pin.ceiling || reached.after > wanted) return false;
  // Consent was already given to this revision.
  if (pin.agreed === contract.digest) return false;
  const change = { contract, spent: reached.spent, before: pin.ceiling, after: wanted };
  if ((await consent?.(change)) !== true) {
    throw new RumorError(
      "consent",
      `${reached.message}; revision ${contract.revision} asks for up to ${Number(wanted.toPrecision(4))}, ` +
        `and that needs your consent`,
    );
  }
  await keep(async (state) => {
    const held = scopeOf(state, contract).pin ?? pin;
    setPin(state, { ...held, ceiling: Math.max(held.ceiling, wanted), agreed: contract.digest });
  });
  return true;
}

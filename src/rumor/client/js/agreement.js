/** Asking a person whether a series may cost more than they agreed to so far; loaded when that comes up. */

import { RumorError } from "./errors.js";
import { sumUp } from "./exact.js";
import { setPin } from "./ledger.js";
import { lossOfContract } from "./loss.js";
import { scopeOf } from "./pins.js";

/**
 * Whether the person agrees, which `keep` then remembers; a no is an error, nothing to ask is false.
 * @param {object} contract
 * @param {{ spent: number, after: number, message: string }} reached the limit that was reached
 * @param {object | undefined} pin what the series is held to
 * @param {string[]} questions those that this person is asked
 * @param {((change: object) => boolean | Promise<boolean>) | undefined} consent
 * @param {(work: (state: object) => Promise<void>) => Promise<void>} keep
 */
export async function requestConsent(contract, reached, pin, questions, consent, keep) {
  // Where a revision promises no total, it is what was spent and all that it may ask.
  const wanted = contract.series_epsilon ?? sumUp([reached.spent, lossOfContract(contract, questions).ceiling]);
  if (!pin || wanted <= pin.ceiling || reached.after > wanted) return false;
  // Nothing was revised since the person agreed: there is nothing to ask.
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

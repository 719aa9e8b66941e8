/**
 * What a device holds a collector to: a series is pinned at its first answer, to the revision, its
 * digest and the most that the whole series may cost. A later contract is taken only as a further
 * revision, and spends no more than was pinned unless the person agrees to more. So a revision can
 * never cost a person anything that they were not told of at the start or asked about since.
 */

import { RumorError } from "./errors.js";
import { lossOfContract } from "./loss.js";

/**
 * The pin of a series once this contract is answered; refused where it is no further revision.
 * @param {{ revision: number, contract: string, ceiling: number, agreed: string } | undefined} pin as it is so far
 * @param {string[]} [drawn] the questions that this person is asked
 */
export function follow(pin, contract, drawn) {
  const { series, revision, digest } = contract;
  if (!pin) return { series, revision, contract: digest, ceiling: lossOfContract(contract, drawn).ceiling, agreed: digest };
  if (digest === pin.contract) return pin;
  if (revision === pin.revision) {
    refuse(
      `a series must have one contract of each revision; '${series}' had another one of ` +
        `revision ${revision} when it was answered last`,
    );
  }
  if (revision < pin.revision) {
    refuse(
      `a device must not go back to an older contract; '${series}' was answered in ` +
        `revision ${pin.revision}, and this is revision ${revision}`,
    );
  }
  if (revision === pin.revision + 1 && contract.previous !== pin.contract) {
    refuse(
      `a revision must name the contract it revises; revision ${revision} of '${series}' ` +
        `names another one than this device answered`,
    );
  }
  // What a revision promises to be the most holds, where that is less.
  return { ...pin, revision, contract: digest, ceiling: Math.min(pin.ceiling, contract.series_epsilon ?? pin.ceiling) };
}

function refuse(sentence) {
  throw new RumorError("revision", sentence);
}

/**
 * Rumor in apps: the browser's client on a host of five functions (`Host` in device.d.ts), without anything else of a browser.
 * Calls return at once where the host does, and promises where it does not.
 */

import * as contracts from "../js/contract.js";
import { RumorError } from "../js/errors.js";
import { Respondent } from "../js/respondent.js";
import { now, originOf } from "./host.js";
import { Settling } from "./promise.js";

export { describeReport } from "../js/contract.js";
export { RumorError } from "../js/errors.js";
export { epsilonAfter, lossOf, lossOfContract } from "../js/loss.js";

const METHODS = ["assignment", "prepare", "enrol", "pending", "spending", "spent", "budget", "reset", "withdrawable", "withdraw"];

/** Check a contract given as JSON, of an expected digest, from the origin `collector`. */
export const parseContract = (given, options) => Settling.of(null, () => contracts.parseContract(given, options));

/** Open the device whose ledger the host keeps, making it and its secret on first use. */
export const openDevice = (host, { maxEpsilon, consent } = {}) =>
  Settling.of(host, async () => {
    const person = await Respondent.open({ maxEpsilon, consent, today: () => new Date(now()) });
    const device = {
      fetchContract: (url, options) => Settling.of(host, () => fetchContract(url, options)),
      // Attempts and pauses are the host's, which calls again when it likes.
      send: (url, contract, options) => Settling.of(host, () => person.send(url, contract, { ...options, attempts: 1, delay: 0 })),
    };
    for (const name of METHODS) device[name] = (...given) => Settling.of(host, () => person[name](...given));
    return Object.freeze(device);
  });

function fetchContract(url, options) {
  if (originOf(url)) return contracts.fetchContract(url, options);
  throw new RumorError("contract", "the address of a contract must be http(s)://HOST[:PORT]/...; got another text");
}

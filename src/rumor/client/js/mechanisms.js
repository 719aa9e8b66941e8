/** Mechanisms by the names that contracts give them; a page loads those that it asks for. */

import { digestOf } from "./canonical.js";
import { members, refuse } from "./checks.js";
import { RumorError } from "./errors.js";
import { totalUp } from "./exact.js";

const NAMES = [
  "randomized-response", "unary", "subset-selection", "hadamard", "local-hashing", "rappor", "basic-rappor",
  "harmony", "piecewise", "keyvalue-block", "privkv", "privkvm", "item-sampling", "pckv-grr",
];

// Most mechanisms draw everything afresh, so that reports cost their epsilon each, and are asked in one round.
const USUAL = {
  settles: false,
  round: 1,
  rounds: 1,
  epsilonTogether: (made) => totalUp(made.map(([one, n]) => [one.epsilon, n])),
};

/**
 * @param {any} description name and parameters, as a contract says them
 * @param {string[] | null} [labels]
 * @returns {Promise<import("./rumor.js").Mechanism>}
 */
export async function makeMechanism(description, labels = null) {
  const name = description?.name;
  if (!NAMES.includes(name)) refuse(`a mechanism must be one of ${NAMES.join(", ")}`, name);
  const { keys, fresh = [], make } = await import(`./${name}.js`).catch((problem) => {
    throw new RumorError("unreachable", `the module of '${name}' must load; it did not (${problem.message})`);
  });
  const own = make(members(name, description, ["name", ...keys]), labels);
  const kept = Object.entries(description).filter(([key]) => !fresh.includes(key));
  const mechanism = {
    ...USUAL,
    // Everything public that turns a value into its permanent answer: labels, key, shape and
    // permanent noise, no fresh noise. The map from values, never what it makes of one.
    cell: await digestOf({ labels, mechanism: Object.fromEntries(kept) }),
    epsilonAfter: (n) => mechanism.epsilonTogether([[mechanism, n]]),
    epsilonInAll: (n) => mechanism.epsilonAfter(n),
    ...own,
  };
  return mechanism;
}

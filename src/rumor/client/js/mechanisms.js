/** Mechanisms by the names that contracts give them; a page loads those that it asks for. */

import { members, refuse } from "./checks.js";
import { RumorError } from "./errors.js";

const NAMES = [
  "randomized-response", "unary", "subset-selection", "hadamard", "local-hashing", "rappor", "basic-rappor",
  "harmony", "piecewise", "keyvalue-block", "privkv", "privkvm", "item-sampling", "pckv-grr",
];

/**
 * @param {any} description name and parameters, as a contract says them
 * @param {string[] | null} [labels]
 * @returns {Promise<import("./rumor.js").Mechanism>}
 */
export async function makeMechanism(description, labels = null) {
  const name = description?.name;
  if (!NAMES.includes(name)) refuse(`a mechanism must be one of ${NAMES.join(", ")}`, name);
  const { keys, make } = await import(`./${name}.js`).catch((problem) => {
    throw new RumorError("unreachable", `the module of '${name}' must load; it did not (${problem.message})`);
  });
  return make(members(name, description, ["name", ...keys]), labels);
}

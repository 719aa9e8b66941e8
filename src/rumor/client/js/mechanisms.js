/** Mechanisms by their names in contracts; a page loads only those that its contract names. */

import { digestOf } from "./canonical.js";
import { checkMembers, refuse } from "./checks.js";
import { RumorError } from "./errors.js";
import { totalUp } from "./exact.js";

// One line for each mechanism of src/rumor/mechanisms/registry.py. File names are written out, so that bundlers find them
// and no contract decides which address is loaded.
const LOADERS = {
  "randomized-response": () => import("./mechanisms/randomized-response.js"),
  "unary": () => import("./mechanisms/unary.js"),
  "subset-selection": () => import("./mechanisms/subset-selection.js"),
  "hadamard": () => import("./mechanisms/hadamard.js"),
  "projective": () => import("./mechanisms/projective.js"),
  "local-hashing": () => import("./mechanisms/local-hashing.js"),
  "rappor": () => import("./mechanisms/rappor.js"),
  "open-words": () => import("./mechanisms/open-words.js"),
  "basic-rappor": () => import("./mechanisms/basic-rappor.js"),
  "paper": () => import("./mechanisms/paper.js"),
  "harmony": () => import("./mechanisms/harmony.js"),
  "piecewise": () => import("./mechanisms/piecewise.js"),
  "window": () => import("./mechanisms/window.js"),
  "wave": () => import("./mechanisms/wave.js"),
  "select": () => import("./mechanisms/select.js"),
  "block": () => import("./mechanisms/block.js"),
  "keyvalue-block": () => import("./mechanisms/keyvalue-block.js"),
  "privkv": () => import("./mechanisms/privkv.js"),
  "privkvm": () => import("./mechanisms/privkvm.js"),
  "item-sampling": () => import("./mechanisms/item-sampling.js"),
  "key-set": () => import("./mechanisms/key-set.js"),
  "pckv-grr": () => import("./mechanisms/pckv-grr.js"),
  "mixed": () => import("./mechanisms/mixed.js"),
};
const NAMES = Object.keys(LOADERS);

// Most mechanisms memoise nothing, so each report costs its epsilon, and have one round.
const DEFAULTS = {
  isMemoised: false,
  round: 1,
  rounds: 1,
  epsilonComposed: (made) => totalUp(made.map(([one, n]) => [one.epsilon, n])),
};

/** Make a mechanism from its name and parameters in a contract. */
export async function makeMechanism(description, labels = null) {
  const name = description?.name;
  if (!NAMES.includes(name)) refuse(`a mechanism must be one of ${NAMES.join(", ")}`, name);
  const { keys, instantaneous = [], make } = await LOADERS[name]().catch((problem) => {
    throw new RumorError("unreachable", `the module of '${name}' must load; it did not (${problem.message})`);
  });
  const wanted = typeof keys === "function" ? keys(description) : keys;
  const own = make(checkMembers(name, description, ["name", ...wanted]), labels);
  const kept = Object.entries(description).filter(([key]) => !instantaneous.includes(key));
  const mechanism = {
    ...DEFAULTS,
    // Everything public that determines the permanent noise of a value: labels, key, shape and permanent noise, but not
    // the instantaneous noise, and nothing that depends on the value.
    memoDigest: await digestOf({ labels, mechanism: Object.fromEntries(kept) }),
    epsilonAfter: (n) => mechanism.epsilonComposed([[mechanism, n]]),
    epsilonAllRounds: (n) => mechanism.epsilonAfter(n),
    ...own,
  };
  return mechanism;
}

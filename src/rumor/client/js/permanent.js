/**
 * Keys of permanent answers (permanent randomised response). A key is derived from the secret, from public values (series, question, and the memo digest: everything that determines the
 * permanent noise of a value) and from the value's identity, and from nothing else. In particular it is never derived from an
 * encoding of the value, such as a Bloom filter: two values with the same filter would share their noise, and a change of the
 * filter's noise would tell such values apart.
 */

import { Keyed } from "./randomness.js";

/** Return the keys of one answer to a question. */
export function keysOf(secret, series, question, memoDigest, identity) {
  const person = new Keyed(secret, "rumor permanent answer 2", series, question);
  return {
    /** Key of random choices that do not depend on the value. */
    person,
    /** Key of the value's permanent noise. */
    noise: person.extend(memoDigest, identity),
    /** Key of the tag that identifies the value in the ledger. */
    tag: new Keyed(secret, "rumor value tag 2", series, question, memoDigest, identity),
    /**
     * Return the key of a period's noise, where this value is the period's first answer. It contains the value's identity,
     * so that a ledger restored from a backup never uses the same noise for two values.
     */
    noiseIn: (period) => new Keyed(secret, "rumor period answer 1", series, question, memoDigest, period, identity),
  };
}

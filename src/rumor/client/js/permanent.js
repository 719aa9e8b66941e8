/**
 * Permanent answers: noise that stays while a person's value does, and fresh noise on top of it.
 *
 * The key of a permanent answer is made of public things (the person's series and question, and
 * the memoDigest: everything that turns a value into its answer) and of the value's identity, and of
 * nothing else. In particular never of what the contract makes of the value, a Bloom filter say:
 * two values with one filter would share their noise, and whether noise is fresh would tell them apart.
 */

import { Keyed } from "./randomness.js";

/** What a person's secret decides about one answer to a question: each by a key of its own. */
export function keysOf(secret, series, question, memoDigest, identity) {
  const person = new Keyed(secret, "rumor permanent answer 2", series, question);
  return {
    /** What belongs to the person whatever the value is. */
    person,
    /** The noise of the value. */
    noise: person.extend(memoDigest, identity),
    /** What tells the value from others in the ledger. */
    tag: new Keyed(secret, "rumor value tag 2", series, question, memoDigest, identity),
    /**
     * The noise of a period that the value is the first answer of. The identity is part of the key,
     * so that a ledger that was restored from a copy never covers two values by the same noise.
     */
    noiseIn: (period) => new Keyed(secret, "rumor period answer 1", series, question, memoDigest, period, identity),
  };
}

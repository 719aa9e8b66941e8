/**
 * Exact sampling from 64-bit words: a coin of probability t / 2^64 comes up when a word is below the integer t. Words come from
 * the system (instantaneous noise) or from the AES-128-CTR keystream of HMAC-SHA-256(secret, context) (permanent noise);
 * docs/reference/bytes.md specifies which word is used for what.
 */

import { concat, littleEndian, utf8 } from "./bytes.js";
import { hmac, keystream, randomBytes } from "./host.js";

export const WORD = 1n << 64n;
const EXHAUSTED = Symbol("a keystream of fixed length has ended");

/** Return a threshold in two halves of 32 bits, to compare without BigInt. */
export const split = (big) => ({ high: Number(big >> 32n), low: Number(big & 0xffffffffn), big });

/** The elementary steps of every reference draw. */
export class Draws {
  #more;
  #words = new DataView(new ArrayBuffer(0));
  #at = 0;

  /** `more` returns the bytes of further words. */
  constructor(more) {
    this.#more = more;
  }

  #next() {
    if (this.#at === this.#words.byteLength) {
      const bytes = this.#more();
      this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      this.#at = 0;
    }
    this.#at += 8;
    return this.#at - 8;
  }

  /** Return true with probability threshold / 2^64. */
  coin(threshold) {
    const at = this.#next();
    const high = this.#words.getUint32(at + 4, true);
    if (high !== threshold.high) return high < threshold.high;
    return this.#words.getUint32(at, true) < threshold.low;
  }

  /** Return a uniform integer below `bound`. */
  below(bound) {
    const factor = BigInt(bound);
    const reject = WORD % factor;
    for (;;) {
      // A statement of its own, since it may replace the words.
      const at = this.#next();
      const product = this.#words.getBigUint64(at, true) * factor;
      // Truncated: sets in QuickJS of 2021 tell a BigInt's number from an equal one.
      if (BigInt.asUintN(64, product) >= reject) return Math.trunc(Number(product >> 64n));
    }
  }

  /** Return a uniform integer below `count` other than `own`. */
  another(count, own) {
    const other = this.below(count - 1);
    return other + Number(other >= own);
  }

  /** Return `count` distinct integers below `total`, by Floyd's algorithm. */
  sample(total, count) {
    const chosen = new Set();
    for (let j = total - count; j < total; j++) {
      const pick = this.below(j + 1);
      chosen.add(chosen.has(pick) ? j : pick);
    }
    return [...chosen];
  }

  /** Return random bytes that the report contains unchanged. */
  public(count) {
    const out = new Uint8Array(count);
    for (let i = 0; i < count; i += 8) {
      const at = this.#next();
      for (let j = i; j < Math.min(count, i + 8); j++) out[j] = this.#words.getUint8(at + j - i);
    }
    return out;
  }
}

/** Return draws from the system's randomness, fetched `batch` words at a time. */
export const systemDraws = (batch = 64) => new Draws(() => randomBytes(8 * batch));

/** Return the parts of a context as bytes, each after its length. */
export function encodeContext(parts) {
  const raw = parts.map((part) => (part instanceof Uint8Array ? part : utf8(String(part))));
  return concat(...raw.flatMap((part) => [littleEndian(4, part.length), part]));
}

/** Randomness determined by a secret and a context. */
export class Keyed {
  constructor(secret, ...context) {
    this.secret = secret;
    this.context = context;
  }

  /** Return a key with the same secret and a longer context. */
  extend(...more) {
    return new Keyed(this.secret, ...this.context, ...more);
  }

  /** Return the 32 bytes that secret and context determine: a stream's seed, or a keyed tag. */
  async digest() {
    return hmac(this.secret, encodeContext(this.context));
  }

  /** Return the result of `decide` on draws from the keystream, always from its start. */
  async draw(decide) {
    const seed = await this.digest();
    // Web cryptography is asynchronous, draws are not: where the keystream is too short, `decide` runs again with the same
    // words and more.
    for (let words = 256; ; words *= 8) {
      const stream = await keystream(seed.slice(0, 16), seed.slice(16), 8 * words);
      let rest = 1;
      const draws = new Draws(() => {
        if (!rest--) throw EXHAUSTED;
        return stream;
      });
      try {
        return decide(draws);
      } catch (problem) {
        if (problem !== EXHAUSTED) throw problem;
      }
    }
  }
}

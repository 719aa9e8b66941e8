/**
 * Exact sampling: every decision is made by uniform 64-bit words, and a coin of probability
 * t / 2^64 falls when a word is below the integer t. No floating point decides anything.
 *
 * Words come from the system (fresh noise) or from the AES-128-CTR keystream of
 * HMAC-SHA-256(secret, context) (permanent answers); docs/reference/bytes.md says which
 * word decides what.
 */

import { concat, littleEndian, utf8 } from "./bytes.js";
import { RumorError } from "./errors.js";

export const WORD = 1n << 64n;
const EXHAUSTED = Symbol("a keystream of fixed length has ended");

/** The page's cryptography, or the sentence that says why there is none. */
export function subtle() {
  const found = globalThis.crypto?.subtle;
  if (!found) {
    throw new RumorError(
      "insecure",
      "a page must be secure (https, or localhost) for its browser to offer cryptography; this one is not",
    );
  }
  return found;
}

/** @typedef {{ high: number, low: number, big: bigint }} Threshold */

/** A threshold in two halves of 32 bits, for comparing without BigInt. */
export const split = (big) => ({ high: Number(big >> 32n), low: Number(big & 0xffffffffn), big });

/** The three steps that make up every reference draw. */
export class Draws {
  #more;
  #words = new DataView(new ArrayBuffer(0));
  #at = 0;

  /** @param {() => Uint8Array} more gives the bytes of further words */
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

  /** True with probability threshold / 2^64. */
  coin(threshold) {
    const at = this.#next();
    const high = this.#words.getUint32(at + 4, true);
    if (high !== threshold.high) return high < threshold.high;
    return this.#words.getUint32(at, true) < threshold.low;
  }

  /** A uniform integer below `bound`. */
  below(bound) {
    const factor = BigInt(bound);
    const reject = WORD % factor;
    for (;;) {
      // A statement of its own: it may bring new words.
      const at = this.#next();
      const product = this.#words.getBigUint64(at, true) * factor;
      if (BigInt.asUintN(64, product) >= reject) return Number(product >> 64n);
    }
  }

  /** Any number below `count` but `own`. */
  another(count, own) {
    const other = this.below(count - 1);
    return other + Number(other >= own);
  }

  /** `count` distinct numbers below `total`, by Floyd's algorithm. */
  sample(total, count) {
    const chosen = new Set();
    for (let j = total - count; j < total; j++) {
      const pick = this.below(j + 1);
      chosen.add(chosen.has(pick) ? j : pick);
    }
    return [...chosen];
  }

  /** Bytes that the report shows as they are. */
  public(count) {
    const out = new Uint8Array(count);
    for (let i = 0; i < count; i += 8) {
      const at = this.#next();
      for (let j = i; j < Math.min(count, i + 8); j++) out[j] = this.#words.getUint8(at + j - i);
    }
    return out;
  }
}

/** Fresh draws from the system, for people; so many words are fetched at a time. */
export const systemDraws = (batch = 64) =>
  new Draws(() => crypto.getRandomValues(new Uint8Array(8 * batch)));

/** Context parts as bytes, each with its length in front. */
export function encodeContext(parts) {
  const raw = parts.map((part) => (part instanceof Uint8Array ? part : utf8(String(part))));
  return concat(...raw.flatMap((part) => [littleEndian(4, part.length), part]));
}

/** Randomness that a secret and a context determine, and nobody else can know. */
export class Keyed {
  /** @param {Uint8Array} secret @param {...(string | number | Uint8Array)} context */
  constructor(secret, ...context) {
    this.secret = secret;
    this.context = context;
  }

  /** The same secret with a longer context. */
  extend(...more) {
    return new Keyed(this.secret, ...this.context, ...more);
  }

  /** The 32 bytes that secret and context determine: a stream's seed, or a keyed tag. */
  async digest() {
    const rule = { name: "HMAC", hash: "SHA-256" };
    const key = await subtle().importKey("raw", this.secret, rule, false, ["sign"]);
    return new Uint8Array(await subtle().sign("HMAC", key, encodeContext(this.context)));
  }

  /**
   * What these decisions give on the keystream, always from its start.
   * @template T
   * @param {(draws: Draws) => T} decide
   * @returns {Promise<T>}
   */
  async draw(decide) {
    const seed = await this.digest();
    const key = await subtle().importKey("raw", seed.slice(0, 16), "AES-CTR", false, ["encrypt"]);
    const mode = { name: "AES-CTR", counter: seed.slice(16), length: 128 };
    // Web cryptography is asynchronous and draws are not: a keystream that turns out too
    // short is fetched again, longer, and the decisions are taken again, the same.
    for (let words = 256; ; words *= 8) {
      const stream = new Uint8Array(await subtle().encrypt(mode, key, new Uint8Array(8 * words)));
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

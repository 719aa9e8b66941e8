/**
 * Blind signatures (RFC 9474, RSABSSA-SHA384-PSS-Randomized), the side of whoever wants one: the
 * signer sees m r^e mod n and nothing else, for a random r that stays here.
 */

import { concat, fromHex, toHex } from "./bytes.js";
import { gcd } from "./moduli.js";
import { subtle } from "./randomness.js";

export const SIZE = 256;
const SALT = 48;
const EXPONENT = 65537n;
const HASH = 48;

const toNumber = (bytes) => BigInt(`0x${toHex(bytes)}`);
const toBytes = (number) => fromHex(number.toString(16).padStart(2 * SIZE, "0"));
const sha384 = async (...parts) => new Uint8Array(await subtle().digest("SHA-384", concat(...parts)));

/** The number to the public exponent, which is 2^16 + 1. */
function raiseToExponent(number, modulus) {
  let power = number;
  for (let square = 0; square < 16; square++) power = (power * power) % modulus;
  return (power * number) % modulus;
}

/** The inverse of a number, or null where it has a divisor with the modulus. */
function inverseOf(number, modulus) {
  let [a, b, x, y] = [modulus, number, 0n, 1n];
  while (b) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return a === 1n ? (x % modulus + modulus) % modulus : null;
}

/** EMSA-PSS of RFC 8017 for a modulus of 2048 bits, as a number. */
async function encodePss(prepared, salt) {
  const hashed = await sha384(new Uint8Array(8), await sha384(prepared), salt);
  const data = concat(new Uint8Array(SIZE - SALT - HASH - 2), [1], salt);
  const blocks = Array.from({ length: Math.ceil(data.length / HASH) }, (_, i) => sha384(hashed, [0, 0, 0, i]));
  const mask = concat(...(await Promise.all(blocks)));
  data.forEach((byte, i) => (data[i] = byte ^ mask[i]));
  data[0] &= 0x7f;
  return toNumber(concat(data, hashed, [0xbc]));
}

/** A uniform number from 1 below a modulus of 2048 bits. */
function randomBelow(modulus) {
  for (;;) {
    const number = toNumber(crypto.getRandomValues(new Uint8Array(SIZE)));
    if (number && number < modulus) return number;
  }
}

/**
 * What the signer is given for a prepared message, and what opens its answer, both in hexadecimal; null where
 * the message or the factor has a divisor with the modulus (RFC 9474, Blind, step 3): the signer would see it
 * in what it is given, and see it again in the signature. A key of two large primes has no such messages.
 * @param {string} key the modulus
 * @param {Uint8Array} prepared
 */
export async function blind(key, prepared, salt = crypto.getRandomValues(new Uint8Array(SALT)), factor = undefined) {
  const modulus = BigInt(`0x${key}`);
  const r = factor ?? randomBelow(modulus);
  const message = await encodePss(prepared, salt);
  const inverse = inverseOf(r, modulus);
  if (inverse === null || gcd(message, modulus) !== 1n) return null;
  const hidden = (message * raiseToExponent(r, modulus)) % modulus;
  return { blinded: toHex(toBytes(hidden)), inverse: toHex(toBytes(inverse)) };
}

/** The signature of a prepared message out of the signer's answer, in hexadecimal; null where it is none. */
export async function finalize(key, prepared, answer, inverse) {
  const modulus = BigInt(`0x${key}`);
  const signature = toBytes((toNumber(answer) * BigInt(`0x${inverse}`)) % modulus);
  return answer.length === SIZE && (await verify(key, prepared, signature)) ? toHex(signature) : null;
}

/** Whether this is a signature of a prepared message. */
export async function verify(key, prepared, signature) {
  const n = btoa(String.fromCharCode(...fromHex(key))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const rule = { name: "RSA-PSS", hash: "SHA-384" };
  const loaded = await subtle().importKey("jwk", { kty: "RSA", n, e: "AQAB" }, rule, false, ["verify"]);
  return subtle().verify({ name: "RSA-PSS", saltLength: SALT }, loaded, signature, prepared);
}

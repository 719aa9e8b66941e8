/**
 * Blind signatures (RFC 9474, RSABSSA-SHA384-PSS-Randomized), the requester's side: the signer sees only m r^e mod n, for a
 * random r that stays here.
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

/** Return the number to the power of the public exponent, 2^16 + 1. */
function raiseToExponent(number, modulus) {
  let power = number;
  for (let square = 0; square < 16; square++) power = (power * power) % modulus;
  return (power * number) % modulus;
}

/** Return the inverse of a number, or null where it shares a divisor with the modulus. */
function inverseOf(number, modulus) {
  let [a, b, x, y] = [modulus, number, 0n, 1n];
  while (b) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return a === 1n ? (x % modulus + modulus) % modulus : null;
}

/** Return the EMSA-PSS encoding (RFC 8017) for a modulus of 2048 bits, as a number. */
async function encodePss(prepared, salt) {
  const hashed = await sha384(new Uint8Array(8), await sha384(prepared), salt);
  const data = concat(new Uint8Array(SIZE - SALT - HASH - 2), [1], salt);
  const blocks = Array.from({ length: Math.ceil(data.length / HASH) }, (_, i) => sha384(hashed, [0, 0, 0, i]));
  const mask = concat(...(await Promise.all(blocks)));
  data.forEach((byte, i) => (data[i] = byte ^ mask[i]));
  data[0] &= 0x7f;
  return toNumber(concat(data, hashed, [0xbc]));
}

/** Return a uniform number from 1 up to a modulus of 2048 bits, exclusive. */
function randomBelow(modulus) {
  for (;;) {
    const number = toNumber(crypto.getRandomValues(new Uint8Array(SIZE)));
    if (number && number < modulus) return number;
  }
}

/**
 * Blind a prepared message. Returns the blinded message and the inverse that unblinds the signature, both in hexadecimal;
 * null where the message or the factor shares a divisor with the modulus (RFC 9474, Blind, step 3), by which the signer
 * could recognise the signature later. A key of two large primes has no such messages.
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

/** Unblind the signer's answer. Returns the signature of the prepared message, in hexadecimal; null where it is invalid. */
export async function finalize(key, prepared, answer, inverse) {
  const modulus = BigInt(`0x${key}`);
  const signature = toBytes((toNumber(answer) * BigInt(`0x${inverse}`)) % modulus);
  return answer.length === SIZE && (await verify(key, prepared, signature)) ? toHex(signature) : null;
}

/** Return whether this is a signature of the prepared message. */
export async function verify(key, prepared, signature) {
  const n = btoa(String.fromCharCode(...fromHex(key))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const rule = { name: "RSA-PSS", hash: "SHA-384" };
  const loaded = await subtle().importKey("jwk", { kty: "RSA", n, e: "AQAB" }, rule, false, ["verify"]);
  return subtle().verify({ name: "RSA-PSS", saltLength: SALT }, loaded, signature, prepared);
}

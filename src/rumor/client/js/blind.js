/**
 * Blind signatures (RFC 9474, RSABSSA-SHA384-PSS-Randomized), the requester's side: the signer sees only m r^e mod n, for a
 * random r that stays here.
 */

import { concat, fromHex, toHex } from "./bytes.js";
import { randomBytes } from "./host.js";
import { gcd } from "./moduli.js";
import { sha384 } from "./sealing.js";

export const SIZE = 256;
const SALT = 48;
const EXPONENT = 65537n;
const HASH = 48;

const toNumber = (bytes) => BigInt(`0x${toHex(bytes)}`);
const toBytes = (number) => fromHex(number.toString(16).padStart(2 * SIZE, "0"));

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

/** Mask or unmask (RFC 8017, MGF1) the data block that goes with a hash. */
async function masked(data, hashed) {
  const blocks = Array.from({ length: Math.ceil(data.length / HASH) }, (_, i) => sha384(hashed, [0, 0, 0, i]));
  const mask = concat(...(await Promise.all(blocks)));
  const out = data.map((byte, i) => byte ^ mask[i]);
  out[0] &= 0x7f;
  return out;
}

/** Return the EMSA-PSS encoding (RFC 8017) for a modulus of 2048 bits, as a number. */
async function encodePss(prepared, salt) {
  const hashed = await sha384(new Uint8Array(8), await sha384(prepared), salt);
  const data = concat(new Uint8Array(SIZE - SALT - HASH - 2), [1], salt);
  return toNumber(concat(await masked(data, hashed), hashed, [0xbc]));
}

/** Return a uniform number from 1 up to a modulus of 2048 bits, exclusive. */
function randomBelow(modulus) {
  for (;;) {
    const number = toNumber(randomBytes(SIZE));
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
export async function blind(key, prepared, salt = randomBytes(SALT), factor = undefined) {
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

/** Return whether this is a signature of the prepared message: the encoding of the message with the salt that it holds. */
export async function verify(key, prepared, signature) {
  const modulus = BigInt(`0x${key}`);
  const number = toNumber(signature);
  if (signature.length !== SIZE || number >= modulus) return false;
  const encoded = raiseToExponent(number, modulus);
  const bytes = toBytes(encoded);
  const data = await masked(bytes.slice(0, SIZE - HASH - 1), bytes.slice(SIZE - HASH - 1, SIZE - 1));
  return encoded === (await encodePss(prepared, data.slice(-SALT)));
}

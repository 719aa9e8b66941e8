/** What tokens and envelopes need of cryptography, from noble: SHA-384, P-256 and AES-128-GCM. */

import { gcm } from "@noble/ciphers/aes.js";
import { p256 } from "@noble/curves/nist.js";
import { sha384 as nobleSha384 } from "@noble/hashes/sha2.js";

import { concat, fromHex } from "../js/bytes.js";
import { randomBytes } from "./host.js";

/** Return the SHA-384 of the joined `parts`. */
export const sha384 = (...parts) => nobleSha384(concat(...parts));

/** Return whether a public key, in hexadecimal, is a point of P-256. */
export function isPoint(key) {
  try {
    p256.Point.fromHex(key).assertValidity();
    return true;
  } catch {
    return false;
  }
}

/** Return a fresh public key (`enc`) and the secret that it shares (`joint`) with the holder of `receiver`'s private key. */
export function agree(receiver) {
  // 16 bytes more than a private key has, so that no key is likelier than another.
  const { secretKey, publicKey } = p256.keygen(randomBytes(48));
  const joint = p256.getSharedSecret(secretKey, fromHex(receiver), true).slice(1);
  return { enc: p256.Point.fromBytes(publicKey).toBytes(false), joint };
}

/** Return `plain` encrypted by AES-128-GCM, with its tag. */
export const encrypt = (key, nonce, plain) => gcm(key, nonce).encrypt(plain);

/**
 * What web cryptography has for tokens and envelopes: SHA-384, P-256 and AES-128-GCM. Apps without a browser have others, with
 * the same exports (../device/sealing.js).
 */

import { concat, fromHex } from "./bytes.js";
import { subtle } from "./host.js";

const CURVE = { name: "ECDH", namedCurve: "P-256" };

/** Return the SHA-384 of the joined `parts`. */
export const sha384 = async (...parts) => new Uint8Array(await subtle().digest("SHA-384", concat(...parts)));

const publicKey = (key) => subtle().importKey("raw", fromHex(key), CURVE, false, []);

/** Return whether a public key, in hexadecimal, is a point of P-256. */
export const isPoint = (key) => publicKey(key).then(() => true, () => false);

/** Return a fresh public key (`enc`) and the secret that it shares (`joint`) with the holder of `receiver`'s private key. */
export async function agree(receiver) {
  const own = await subtle().generateKey(CURVE, false, ["deriveBits"]);
  const enc = await subtle().exportKey("raw", own.publicKey);
  const joint = await subtle().deriveBits({ name: "ECDH", public: await publicKey(receiver) }, own.privateKey, 256);
  return { enc: new Uint8Array(enc), joint: new Uint8Array(joint) };
}

/** Return `plain` encrypted by AES-128-GCM, with its tag. */
export async function encrypt(key, iv, plain) {
  const cipher = await subtle().importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  return new Uint8Array(await subtle().encrypt({ name: "AES-GCM", iv }, cipher, plain));
}

/** Envelopes in JavaScript: seals what it is given, and opens what others sealed. */

import { readFileSync } from "node:fs";

import { concat, fromHex, toHex } from "../../src/rumor/client/js/bytes.js";
import { infoOf, schedule, seal } from "../../src/rumor/client/js/relay.js";

const { subtle } = globalThis.crypto;
const CURVE = { name: "ECDH", namedCurve: "P-256" };
const base64 = (hex) => Buffer.from(hex, "hex").toString("base64url");

async function unseal(secret, receiver, info, sealed) {
  const jwk = { kty: "EC", crv: "P-256", d: base64(secret), x: base64(receiver.slice(2, 66)), y: base64(receiver.slice(66)) };
  const own = await subtle.importKey("jwk", jwk, CURVE, false, ["deriveBits"]);
  const enc = sealed.slice(0, 65);
  const sender = await subtle.importKey("raw", enc, CURVE, false, []);
  const joint = new Uint8Array(await subtle.deriveBits({ name: "ECDH", public: sender }, own, 256));
  const { key, nonce } = await schedule(joint, enc, fromHex(receiver), info);
  const cipher = await subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
  return new Uint8Array(await subtle.decrypt({ name: "AES-GCM", iv: nonce }, cipher, sealed.slice(65)));
}

const { secret, receiver, digest, question, plain, sealed, vector, turn } = JSON.parse(readFileSync(0, "utf8"));
const info = infoOf(digest, question, turn);
const found = {
  info: toHex(info),
  opened: toHex(await unseal(secret, receiver, info, fromHex(sealed))),
  sealed: toHex(await seal(receiver, info, fromHex(plain))),
};
// The key schedule of RFC 9180 A.3.1, as far as sealing without an ephemeral key can be held to it.
const { joint, enc, info: said, receiver: whose } = vector;
const { key, nonce } = await schedule(fromHex(joint), fromHex(enc), fromHex(whose), fromHex(said));
console.log(JSON.stringify({ ...found, schedule: toHex(concat(key, nonce)) }));

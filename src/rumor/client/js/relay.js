/**
 * Sealed envelopes: a report that only the collector's gateway can open, on its way through a relay. HPKE
 * (RFC 9180) in base mode with P-256, HKDF-SHA-256 and AES-128-GCM; docs/reference/bytes.md has every byte.
 */

import { checkUrl } from "./addresses.js";
import { concat, fromHex, toHex, utf8 } from "./bytes.js";
import { members, refuse, size } from "./checks.js";
import { subtle } from "./randomness.js";
import { request, unreachable } from "./transport.js";

const CURVE = { name: "ECDH", namedCurve: "P-256" };
const HMAC = { name: "HMAC", hash: "SHA-256" };
const KEM = utf8("KEM\x00\x10");
const SUITE = utf8("HPKE\x00\x10\x00\x01\x00\x01");
const NOTHING = new Uint8Array(0);

/** What stands before the report in an envelope, by the collection's admission. */
const TICKETS = {
  open: ({ id }) => fromHex(id),
  invited: ({ id, token }) => fromHex(id + token),
  // The id follows from it.
  blind: ({ token }) => fromHex(token),
};

/** Check what a contract says under `relay`. */
export async function checkRelay(given) {
  const { url, key, crowd, days, turn_hours: hours } = members("relay", given, ["url", "key", "crowd", "days"], { turn_hours: null });
  checkUrl(url, "a relay");
  const rule = "key of relay must be a point of the curve P-256 in 130 hexadecimal digits";
  if (typeof key !== "string" || !/^04[0-9a-f]{128}$/.test(key)) refuse(rule, key);
  await publicKey(key).catch(() => refuse(rule, key));
  size("crowd of relay", crowd, 2, 1e9);
  size("days of relay", days, 1, 3650);
  if (hours !== undefined) size("turn_hours of relay", hours, 1, 8760);
}

const publicKey = (key) => subtle().importKey("raw", fromHex(key), CURVE, false, []);

async function hmac(key, ...parts) {
  const imported = await subtle().importKey("raw", key, HMAC, false, ["sign"]);
  return new Uint8Array(await subtle().sign("HMAC", imported, concat(...parts)));
}

// An empty salt is a hash's length of zeros.
const extract = (suite, salt, label, material) =>
  hmac(salt.length ? salt : new Uint8Array(32), utf8("HPKE-v1"), suite, utf8(label), material);

const expand = async (suite, key, label, info, length) =>
  (await hmac(key, Uint8Array.of(0, length), utf8("HPKE-v1"), suite, utf8(label), info, Uint8Array.of(1))).slice(0, length);

/** The key and nonce that both sides derive from what they share. */
export async function schedule(joint, enc, receiver, info) {
  const prk = await extract(KEM, NOTHING, "eae_prk", joint);
  const shared = await expand(KEM, prk, "shared_secret", concat(enc, receiver), 32);
  const context = concat(
    Uint8Array.of(0),
    await extract(SUITE, NOTHING, "psk_id_hash", NOTHING),
    await extract(SUITE, NOTHING, "info_hash", info),
  );
  const secret = await extract(SUITE, shared, "secret", NOTHING);
  return { key: await expand(SUITE, secret, "key", context, 16), nonce: await expand(SUITE, secret, "base_nonce", context, 12) };
}

/** Seal bytes for whoever has the private key of this public one (hexadecimal). */
export async function seal(receiver, info, plain) {
  const own = await subtle().generateKey(CURVE, false, ["deriveBits"]);
  const enc = new Uint8Array(await subtle().exportKey("raw", own.publicKey));
  const joint = await subtle().deriveBits({ name: "ECDH", public: await publicKey(receiver) }, own.privateKey, 256);
  const { key, nonce } = await schedule(new Uint8Array(joint), enc, fromHex(receiver), info);
  const cipher = await subtle().importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  return concat(enc, new Uint8Array(await subtle().encrypt({ name: "AES-GCM", iv: nonce }, cipher, plain)));
}

/** What binds an envelope to its contract and question. */
export const infoOf = (digest, question) => concat(utf8("rumor envelope 1"), fromHex(digest), utf8(question));

/** What a waiting report needs to go through the relay: sealed once, so that retries are the same bytes. */
export async function sealed({ relay, admission, digest }, row) {
  const body = concat(TICKETS[admission](row), fromHex(row.report));
  return { relay: relay.url, sealed: toHex(await seal(relay.key, infoOf(digest, row.question), body)) };
}

/** Hand one envelope to its relay; returns when it is durable there. */
export async function passOn({ relay, contract, question, sealed }) {
  const url = `${relay}/v1/relay/${contract}/${question}`;
  const { taken } = await request(url, { method: "POST", body: fromHex(sealed) }, 202);
  if (taken !== 1) throw unreachable(`${url} does not answer as a relay does`);
  return { accepted: 1, duplicates: 0 };
}

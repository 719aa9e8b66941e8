/** An app as host: what is not the language's own comes from the app's object (`Host` in device.d.ts), cryptography from noble. */

import { ctr } from "@noble/ciphers/aes.js";
import { hmac as nobleHmac } from "@noble/hashes/hmac.js";
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";

import { concat, utf8 } from "../js/bytes.js";
import { RumorError } from "../js/errors.js";
import { MemoryStore } from "../js/state.js";
import { currentHost } from "./promise.js";

const FUNCTIONS = ["random", "load", "save", "now", "send"];
const ADDRESS = /^(https?):\/\/([a-z0-9.-]+|\[[0-9a-f:]+\])(?::([0-9]{1,5}))?(?=[/?#]|$)/i;
const DEFAULT_PORTS = { http: 80, https: 443 };
/** Bytes of which two are never all equal by chance. */
const SURELY_DIFFERENT = 16;

/** Refuse a host that lacks a function. */
export function checkHost() {
  const missing = FUNCTIONS.find((name) => typeof currentHost()?.[name] !== "function");
  if (missing) throw new RumorError("host", `a host must have the functions ${FUNCTIONS.join(", ")}; this one lacks ${missing}`);
}

/** Return random bytes of the host. */
export function randomBytes(size) {
  const given = attempt("host", "random(n) of a host must work", () => currentHost().random(size));
  const bytes = Uint8Array.from(given?.length === size ? given : []);
  const odd = bytes.length !== size || bytes.some((byte, place) => byte !== given[place]);
  if (odd || (size >= SURELY_DIFFERENT && bytes.every((byte) => byte === bytes[0]))) {
    throw new RumorError("host", `random(n) of a host must return n random bytes at once; random(${size}) returned something else`);
  }
  return bytes;
}

/** Return the SHA-256 of the joined `parts`. */
export const sha256 = (...parts) => nobleSha256(concat(...parts)).slice();

/** Return the HMAC-SHA-256 of the joined `parts`. */
export const hmac = (key, ...parts) => nobleHmac(nobleSha256, key, concat(...parts));

/** Return the first `size` bytes of the AES-128-CTR keystream. */
export const keystream = (key, counter, size) => ctr(key, counter).encrypt(new Uint8Array(size));

/** Go on at once: a host without timers decides itself when it calls again. */
export const sleep = () => {};

/** Return the origin of an address; "" where it has none. */
export function originOf(address) {
  const [, scheme, name, port] = ADDRESS.exec(address) ?? [];
  if (!scheme) return "";
  const origin = `${scheme}://${name}`.toLowerCase();
  return port && Number(port) !== DEFAULT_PORTS[scheme.toLowerCase()] ? `${origin}:${Number(port)}` : origin;
}

/** Exchange a request for the answer's status, JSON (or null) and header Retry-After. */
export async function exchange(url, { headers = {}, body = null } = {}) {
  const bytes = typeof body === "string" ? utf8(body) : body;
  const answer = await attempt("unreachable", "send of a host must work", () => currentHost().send(url, bytes, headers));
  if (!Number.isInteger(answer?.status)) throw new Error("send of a host must return status and body of the answer");
  return { status: answer.status, answer: parseJson(answer.body), wait: String(answer.retryAfter ?? "") };
}

/** The time by the host's clock, in milliseconds since 1970. */
export function now() {
  const time = attempt("host", "now() of a host must work", () => currentHost().now());
  if (Number.isFinite(time) && Math.abs(time) <= 8.64e15) return time;
  throw new RumorError("host", "now() of a host must return milliseconds since 1970; it returned something else");
}

/** A store of one text, which the host loads and saves. */
class HostStore extends MemoryStore {
  async load() {
    const text = await attempt("storage", "load() of a host must work", () => currentHost().load());
    if (text === null || text === undefined) return "null";
    // Not of JSON: a ledger that is damaged (state.js).
    return parseJson(text) === null ? '"damaged"' : text;
  }

  save(text) {
    return attempt("storage", "save(text) of a host must work", () => currentHost().save(text));
  }
}

const stores = new WeakMap();

/** Return the store of the host: one for all its devices, so that two never spend the same budget. */
export function ownStore() {
  const host = currentHost();
  if (!stores.has(host)) stores.set(host, new HostStore());
  return stores.get(host);
}

/** Return what a host's function returns; an error is one sentence. */
function attempt(code, rule, work) {
  const refuse = (problem) => {
    throw new RumorError(code, `${rule}; it did not (${problem?.message ?? problem})`);
  };
  try {
    const found = work();
    return typeof found?.then === "function" ? found.then((value) => value, refuse) : found;
  } catch (problem) {
    return refuse(problem);
  }
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

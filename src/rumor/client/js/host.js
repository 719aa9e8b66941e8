/** The browser as host: all that is not the language's own. Apps have ../device/host.js, with the same exports. */

import { concat } from "./bytes.js";
import { RumorError } from "./errors.js";

/** Return the page's cryptography; throw where the page is not secure. */
export function subtle() {
  const found = globalThis.crypto?.subtle;
  if (found) return found;
  throw new RumorError(
    "insecure",
    "a page must be secure (https, or localhost) for its browser to offer cryptography; this one is not",
  );
}

/** Refuse a host that lacks what a ledger needs. */
export const checkHost = subtle;

/** Return random bytes of the system. */
export const randomBytes = (size) => crypto.getRandomValues(new Uint8Array(size));

/** Return the SHA-256 of the joined `parts`. */
export const sha256 = async (...parts) => new Uint8Array(await subtle().digest("SHA-256", concat(...parts)));

const importKey = (rule, key, use) => subtle().importKey("raw", key, rule, false, [use]);

/** Return the HMAC-SHA-256 of the joined `parts`. */
export async function hmac(key, ...parts) {
  const imported = await importKey({ name: "HMAC", hash: "SHA-256" }, key, "sign");
  return new Uint8Array(await subtle().sign("HMAC", imported, concat(...parts)));
}

/** Return the first `size` bytes of the AES-128-CTR keystream. */
export async function keystream(key, counter, size) {
  const imported = await importKey("AES-CTR", key, "encrypt");
  return new Uint8Array(await subtle().encrypt({ name: "AES-CTR", counter, length: 128 }, imported, new Uint8Array(size)));
}

/** Wait for some seconds. */
export const sleep = (seconds) => new Promise((resume) => setTimeout(resume, 1000 * seconds));

/** Return the origin of an address, which may be relative to the page; "" where it has none. */
export function originOf(address) {
  try {
    return new URL(address, globalThis.location?.href).origin;
  } catch {
    return "";
  }
}

/** Exchange a request for the answer's status, JSON (or null) and header Retry-After, without cookies, referrer or redirects. */
export async function exchange(url, options) {
  const response = await fetch(url, {
    credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", cache: "no-store", signal: AbortSignal.timeout(10_000),
    ...(options?.body && { method: "POST" }), ...options,
  });
  return { status: response.status, answer: await response.json().catch(() => null), wait: response.headers.get("Retry-After") };
}

/**
 * A store in the browser's IndexedDB, shared by all tabs of an origin. A Web Lock lets one of them run at a time, so that two
 * tabs cannot both spend the same budget.
 */
export class BrowserStore {
  #name;

  constructor(name = "rumor") {
    subtle();
    if (!globalThis.indexedDB || !globalThis.navigator?.locks) {
      const rule = "a browser must offer IndexedDB and Web Locks to keep a ledger";
      throw new RumorError("storage", `${rule}; this one does not`);
    }
    this.#name = name;
  }

  transaction(work) {
    return navigator.locks.request(`rumor ledger ${this.#name}`, async () => {
      const database = await this.#open();
      try {
        const kept = await this.#run(database, "readonly", (ledger) => ledger.get("person"));
        const { state, result } = await work(kept ?? null);
        if (state !== undefined) await this.#run(database, "readwrite", (ledger) => ledger.put(state, "person"));
        return result;
      } finally {
        database.close();
      }
    });
  }

  #open() {
    const opening = indexedDB.open(this.#name, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("ledger");
    return completed(opening, "onsuccess", () => opening.result);
  }

  #run(database, mode, action) {
    const transaction = database.transaction("ledger", mode, { durability: "strict" });
    const asked = action(transaction.objectStore("ledger"));
    return completed(transaction, "oncomplete", () => asked.result);
  }
}

/** Return a promise of `result()`, resolved when a request or transaction of IndexedDB fires `event`. */
function completed(task, event, result) {
  return new Promise((resolve, reject) => {
    task[event] = () => resolve(result());
    task.onerror = task.onabort = task.onblocked = () => {
      const reason = task.error?.message ?? "it is blocked";
      reject(new RumorError("storage", `a browser's storage must be usable; this one is not (${reason})`));
    };
  });
}

/** Return the store of a device that was given none. */
export const ownStore = () => new BrowserStore();

/** Stores for a respondent's ledger: one value, read and written by one transaction at a time (`Store` in rumor.d.ts). */

import { RumorError } from "./errors.js";
import { subtle } from "./randomness.js";

/** A store in memory, lost with the page: for tests, and for programs that keep the state themselves. */
export class MemoryStore {
  #kept;
  #turn = Promise.resolve();

  constructor(state = null) {
    this.#kept = JSON.stringify(state);
  }

  /** Return the stored state as JSON. */
  toString() {
    return this.#kept;
  }

  transaction(work) {
    const done = this.#turn.then(async () => {
      const { state, result } = await work(JSON.parse(this.#kept));
      if (state !== undefined) this.#kept = JSON.stringify(state);
      return result;
    });
    this.#turn = done.catch(() => {});
    return done;
  }
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

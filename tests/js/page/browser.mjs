/**
 * A browser for one person, in Node: pages with their scripts, storage that lasts from page to page, a clock, a network that
 * a test answers for, and chance that is the same at every run. `idle` waits until a page has nothing left to do.
 */

import { readFileSync } from "node:fs";
import { createCipheriv, createHash } from "node:crypto";
import vm from "node:vm";

import { Document, Element, outline } from "./dom.mjs";

const SOURCES = new URL("../../../src/rumor/", import.meta.url);
const SERVED = { "/client/": "client/js/", "/assets/": "collector/web/" };
const real = { subtle: crypto.subtle, Date, setImmediate, Math_random: Math.random };

/** Something that takes a while: a page is busy until it is done. */
let busy = 0;
async function counted(work) {
  busy++;
  try {
    return await work();
  } finally {
    busy--;
  }
}
const turn = () => new Promise((resume) => real.setImmediate(resume));

/** Wait until nothing is under way. */
export async function idle() {
  for (let quiet = 0; quiet < 2; quiet = busy ? 0 : quiet + 1) await turn();
}

// Where each function is told whether a key may be read out again: no page has a reason to.
const EXTRACTABLE = { importKey: 3, generateKey: 1 };
const subtle = new Proxy(real.subtle, {
  get: (target, name) => (...given) => {
    if (given[EXTRACTABLE[name]] === true) throw new Error(`a page must not make keys that can be read out; ${name} did`);
    return counted(() => target[name](...given));
  },
});

/** The scripts of one visit, each loaded once. */
class Scripts {
  #known = new Map();
  #turn = Promise.resolve();

  #urlOf(specifier, from) {
    const [prefix] = Object.keys(SERVED).filter((each) => specifier.startsWith(each));
    return prefix ? new URL(SERVED[prefix] + specifier.slice(prefix.length), SOURCES).href : new URL(specifier, from).href;
  }

  #module(url) {
    if (!this.#known.has(url)) {
      const module = new vm.SourceTextModule(readFileSync(new URL(url), "utf8"), {
        identifier: url,
        initializeImportMeta: (meta) => (meta.url = url),
        importModuleDynamically: (specifier) => counted(() => this.load(this.#urlOf(specifier, url))),
      });
      this.#known.set(url, module);
    }
    return this.#known.get(url);
  }

  /** One after the other: modules that are linked at a time must not share any. */
  load(url) {
    const done = this.#turn.then(async () => {
      const module = this.#module(url);
      if (module.status === "unlinked") await module.link((specifier, { identifier }) => this.#module(this.#urlOf(specifier, identifier)));
      if (module.status === "linked") await module.evaluate();
      return module;
    });
    this.#turn = done.catch(() => {});
    return done;
  }

  async run(specifier) {
    return (await counted(() => this.load(this.#urlOf(specifier, SOURCES.href)))).namespace;
  }
}

/** Values by store and key, as IndexedDB keeps them; what is read is a copy. */
class Databases {
  kept = {};

  open(name, version) {
    const request = { result: null, error: null };
    const isNew = !this.kept[name];
    const stores = (this.kept[name] ??= { version, values: {} }).values;
    request.result = {
      createObjectStore: (store) => void (stores[store] = {}),
      close: () => {},
      transaction: (store, mode, options) => {
        if (!stores[store]) throw new Error(`no store ${store}`);
        if (options?.durability !== "strict") throw new Error("a ledger must be durable");
        const task = { error: null };
        const asked = (result, writes = false) => {
          if (writes && mode !== "readwrite") throw new Error("this transaction only reads");
          counted(turn).then(() => task.oncomplete());
          return { result };
        };
        task.objectStore = (named) => ({
          get: (key) => asked(stores[named][key] === undefined ? undefined : JSON.parse(stores[named][key])),
          put: (value, key) => asked(void (stores[named][key] = JSON.stringify(value)), true),
        });
        return task;
      },
    };
    counted(turn).then(() => {
      if (isNew) request.onupgradeneeded();
      request.onsuccess();
    });
    return request;
  }
}

/** One holder of each name at a time. */
class Locks {
  #turns = new Map();

  request(name, work) {
    const done = (this.#turns.get(name) ?? Promise.resolve()).then(() => counted(work));
    this.#turns.set(name, done.catch(() => {}));
    return done;
  }
}

class Storage {
  kept = {};
  getItem(key) {
    return this.kept[key] ?? null;
  }
  setItem(key, value) {
    this.kept[key] = String(value);
  }
  removeItem(key) {
    delete this.kept[key];
  }
}

/** What a person's browser is: pages come and go, and what it keeps stays. */
export class Browser {
  databases = new Databases();
  locks = new Locks();
  session = new Storage();
  /** What was asked for, as it was asked for; pauses, in milliseconds; calls for storage that lasts. */
  requests = [];
  pauses = [];
  persisted = 0;
  offline = false;

  /**
   * @param {{ seed?: string, now: string, answer: (request: any) => { status?: number, json?: any, headers?: object }, languages?: string[], narrow?: boolean, origin?: string }} options
   */
  constructor({ seed = "", now, answer, languages = ["en-GB"], narrow = false, origin = "https://collector.example", automatic = true }) {
    Object.assign(this, { now: Date.parse(now), answer, languages, narrow, origin, automatic });
    const digest = createHash("sha256").update(seed).digest();
    this.stream = createCipheriv("aes-128-ctr", digest.subarray(0, 16), digest.subarray(16));
  }

  async #fetch(url, { signal, body, ...options } = {}) {
    const request = { url: String(url), ...options, ...(signal && { timeout: signal.timeout }), ...(body !== undefined && { body }) };
    this.requests.push(request);
    if (this.offline) throw Object.assign(new TypeError("fetch failed"), { cause: { message: "no network" } });
    const { status = 200, json = {}, headers = {} } = await this.answer(request, this);
    const response = new Response(JSON.stringify(json), { status, headers });
    return Object.assign(response, { json: () => counted(() => Response.prototype.json.call(response)), blob: async () => ({ of: request.url }) });
  }

  /** Open a page: its HTML, and the script that it runs. */
  async visit(address, told) {
    const { html = "", script } = told;
    const page = new Page(this, address);
    page.enter();
    if (html) page.document.parse(readFileSync(new URL(html, SOURCES), "utf8"));
    page.scripts = new Scripts();
    page.run = (path) => page.scripts.run(path);
    this.before?.(page, told);
    page.exports = await page.run(script);
    await idle();
    return page;
  }

  fetch = (url, options) => counted(() => this.#fetch(url, options));
}

/** One tab: `enter` makes its names those that scripts see. */
export class Page {
  timers = [];
  media = [];
  listeners = new Parented();

  constructor(browser, address) {
    this.browser = browser;
    this.document = new Document();
    this.document.load = (script) => {
      if (script.src !== "/assets/vega.js") throw new Error(`nobody serves ${script.src}`);
      counted(turn).then(() => script.onload());
    };
    this.registry = new Map();
    this.entries = [{ url: new URL(address, browser.origin), state: null }];
    this.at = 0;
    this.reloads = 0;
    this.told = [];
    this.said = [];
    this.drawn = [];
  }

  get location() {
    const { url } = this.entries[this.at];
    const self = this;
    return {
      get href() { return self.entries[self.at].url.href; },
      origin: url.origin, pathname: url.pathname, search: url.search, get hash() { return url.hash; }, set hash(text) { void self.hash(`#${text}`); }, reload: () => void this.reloads++,
    };
  }

  #go(state, address, instead) {
    const url = address === undefined ? this.entries[this.at].url : new URL(address, this.entries[this.at].url);
    if (instead) this.entries[this.at] = { url, state };
    else this.entries.splice(++this.at, Infinity, { url, state });
  }

  get history() {
    const self = this;
    return {
      get state() { return self.entries[self.at].state; },
      pushState: (state, _, address) => this.#go(state, address, false),
      replaceState: (state, _, address) => this.#go(state, address, true),
      back: () => this.back(),
    };
  }

  /** The button that goes back. */
  async back() {
    if (!this.at) throw new Error("there is no page before this one");
    this.at--;
    const event = Object.assign(new Event("popstate"), { state: this.entries[this.at].state });
    this.listeners.dispatchEvent(event);
    await idle();
  }

  /** Another address in the same page. */
  async hash(text) {
    this.#go(null, text, false);
    this.listeners.dispatchEvent(new Event("hashchange"));
    await idle();
  }

  enter() {
    const { browser } = this;
    const self = this;
    const define = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    define("document", this.document);
    define("window", globalThis);
    define("innerWidth", browser.narrow ? 390 : 1280);
    Object.defineProperty(globalThis, "location", { get: () => self.location, configurable: true });
    Object.defineProperty(globalThis, "history", { get: () => self.history, configurable: true });
    define("navigator", {
      languages: browser.languages, locks: browser.locks,
      storage: { persist: async () => void browser.persisted++ },
    });
    define("indexedDB", browser.databases);
    define("sessionStorage", browser.session);
    define("addEventListener", (type, listener) => this.listeners.addEventListener(type, listener));
    define("scrollTo", (left, top) => void (this.document.scrolled = `${left}, ${top}`));
    define("HTMLElement", Element);
    define("customElements", { get: (name) => this.registry.get(name), define: (name, made) => void this.registry.set(name, made) });
    define("CSSStyleSheet", class { replaceSync(text) { this.text = text; } });
    define("getComputedStyle", () => ({ getPropertyValue: (name) => ` var(${name})`, fontFamily: "a font" }));
    define("matchMedia", (query) => {
      const list = Object.assign(new Parented(), { query });
      Object.defineProperty(list, "matches", { get: () => query.includes("max-width") && browser.narrow });
      this.media.push(list);
      return list;
    });
    define("fetch", (url, options) => browser.fetch(url, options));
    define("setTimeout", (work, pause) => {
      const timer = { work, due: browser.now + pause, pause };
      browser.pauses.push(pause);
      if (browser.automatic) counted(turn).then(work);
      else this.timers.push(timer);
      return timer;
    });
    define("clearTimeout", (timer) => void (this.timers = this.timers.filter((each) => each !== timer)));
    AbortSignal.timeout = (pause) => ({ timeout: pause });
    Math.random = () => 0.5;
    Object.defineProperty(crypto, "subtle", { value: subtle, configurable: true });
    crypto.getRandomValues = (out) => {
      out.set(browser.stream.update(new Uint8Array(out.length)));
      return out;
    };
    globalThis.Date = class extends real.Date {
      constructor(...given) {
        super(...(given.length ? given : [browser.now]));
      }
      static now() {
        return browser.now;
      }
      toLocaleTimeString(language) {
        return super.toLocaleTimeString(language, { timeZone: "UTC" });
      }
    };
    URL.createObjectURL = (blob) => `blob:${blob.of}`;
    URL.revokeObjectURL = (url) => void this.told.push(["revoked", url]);
    console.error = console.warn = (...said) => void this.said.push(said.join(" ").split("\n")[0]);
    define("vegaEmbed", async (element, spec, options) => {
      this.drawn.push({ id: element.parentElement.id, spec, options });
      element.append(`drawing ${this.drawn.length}`);
      return { finalize: () => this.told.push(["finalized", this.drawn.length]) };
    });
  }

  /** Let time pass: what was to happen meanwhile happens. */
  async pass(milliseconds) {
    const end = this.browser.now + milliseconds;
    for (;;) {
      const [next] = this.timers.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due);
      if (!next) break;
      this.timers = this.timers.filter((each) => each !== next);
      this.browser.now = Math.max(this.browser.now, next.due);
      await next.work();
      await idle();
    }
    this.browser.now = end;
  }

  find(selector) {
    const found = this.document.querySelectorAll(selector);
    if (!found.length) throw new Error(`nothing on the page is ${selector}`);
    return found[0];
  }

  async click(selector) {
    this.find(selector).click();
    await idle();
  }

  async enterText(selector, text) {
    this.find(selector).enter(text);
    await idle();
  }

  /** What is told to the page as a whole. */
  async tell(type, more = {}) {
    this.listeners.dispatchEvent(Object.assign(new Event(type), more));
    await idle();
  }

  outline() {
    return outline(this.document.body);
  }
}

/** Somewhere to listen that is no element. */
class Parented {
  #known = [];
  addEventListener(type, listener) {
    this.#known.push([type, listener]);
  }
  dispatchEvent(event) {
    for (const [type, listener] of this.#known) if (type === event.type) listener(event);
  }
}

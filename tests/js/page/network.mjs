/** What answers a page's requests: documents by address, a collector that takes reports, a relay, an issuer; or what a test says. */

import { webcrypto } from "node:crypto";

import { schedule } from "../../../src/rumor/client/js/relay.js";

const { subtle } = webcrypto;
const bytes = (text) => new Uint8Array(Buffer.from(text, "hex"));
const base64url = (text) => Buffer.from(text, "hex").toString("base64url");

export class Network {
  /** Envelopes as the gateway opens them. */
  opened = [];

  /**
   * @param {{ served?: object, widths?: object, next?: object[], gateway?: { secret: string, point: string }, issuer?: object }} options documents by address
   *   (of a list, one at a time and the last for good), the bytes of a report of each question, answers that come before all
   *   others, the key of a gateway, the private keys of an issuer by name
   */
  constructor({ served = {}, widths = {}, next = [], gateway, issuer = {} }) {
    Object.assign(this, { served, widths, next, gateway, issuer });
  }

  async answer(request) {
    if (this.next.length) {
      const told = this.next.shift();
      if (told) return told;
    }
    const { pathname } = new URL(request.url, "https://collector.example");
    const document = this.served[request.url] ?? this.served[pathname];
    if (document !== undefined) {
      const now = Array.isArray(document) ? (document.length > 1 ? document.shift() : document[0]) : document;
      return now.status ? now : { json: now };
    }
    if (pathname === "/v1/reports") {
      const count = request.body.length / (16 + this.widths[request.headers["Rumor-Question"]]);
      return { json: { accepted: count, duplicates: 0 } };
    }
    if (pathname === "/v1/withdrawals") return { json: { withdrawn: JSON.parse(request.body).keys.length, absent: 0 } };
    if (pathname.startsWith("/v1/relay/")) {
      this.opened.push(await this.#open(request.body, pathname));
      return { status: 202, json: { taken: 1 } };
    }
    if (pathname === "/v1/tokens") return { json: { signatures: JSON.parse(request.body).tokens.map((token) => this.#signed(token)) } };
    throw new Error(`nobody answers ${request.url}`);
  }

  /** The private power of a blinded message. */
  #signed({ key, blinded }) {
    const { modulus, exponent } = this.issuer[Buffer.from(key, "base64").toString("hex")];
    const n = BigInt(`0x${modulus}`);
    let [found, square] = [1n, BigInt(`0x${Buffer.from(blinded, "base64").toString("hex")}`)];
    for (let left = BigInt(`0x${exponent}`); left; left >>= 1n, square = (square * square) % n) if (left & 1n) found = (found * square) % n;
    return Buffer.from(found.toString(16).padStart(512, "0"), "hex").toString("base64");
  }

  async #open(sealed, pathname) {
    const { secret, point } = this.gateway;
    const [digest, question, turn] = pathname.split("/").slice(3);
    const named = Buffer.from(question, "utf8").toString("hex");
    const number = turn === undefined ? "" : Number(turn).toString(16).padStart(16, "0");
    const info = bytes(Buffer.from(`rumor envelope ${turn === undefined ? 1 : 2}`).toString("hex") + digest + number + named);
    const curve = { name: "ECDH", namedCurve: "P-256" };
    const jwk = { kty: "EC", crv: "P-256", d: base64url(secret), x: base64url(point.slice(2, 66)), y: base64url(point.slice(66)) };
    const own = await subtle.importKey("jwk", jwk, curve, false, ["deriveBits"]);
    const sender = await subtle.importKey("raw", sealed.slice(0, 65), curve, false, []);
    const joint = new Uint8Array(await subtle.deriveBits({ name: "ECDH", public: sender }, own, 256));
    const { key, nonce } = await schedule(joint, sealed.slice(0, 65), bytes(point), info);
    const cipher = await subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
    return Buffer.from(await subtle.decrypt({ name: "AES-GCM", iv: nonce }, cipher, sealed.slice(65))).toString("hex");
  }
}

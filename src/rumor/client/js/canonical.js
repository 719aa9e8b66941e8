/** Canonical JSON (RFC 8785) and its digest. */

import { toHex, utf8 } from "./bytes.js";
import { sha256 } from "./host.js";

/**
 * Return the canonical text of a JSON value: members sorted by UTF-16 code units, no white space, numbers as ECMAScript
 * prints them.
 */
export function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(",")}}`;
}

/** Return the SHA-256 of the canonical form, in lower-case hexadecimal. */
export async function digestOf(value) {
  return toHex(await sha256(utf8(canonicalJson(value))));
}

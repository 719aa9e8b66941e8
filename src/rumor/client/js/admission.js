/**
 * One-time tokens: an invitation admits its holder, and the tokens that it gives for different
 * questions have nothing in common that a collector could see.
 */

import { toHex } from "./bytes.js";
import { RumorError } from "./errors.js";
import { Keyed } from "./randomness.js";

const PATTERN = /^rumor-invitation-([\w-]{22})$/;

/** The bytes of an invitation; a wrong one is not repeated, since it may be a slip. */
export function readInvitation(text) {
  const code = PATTERN.exec(String(text ?? "").trim())?.[1];
  if (!code) throw new RumorError("invitation", "an invitation must be 'rumor-invitation-' and 22 letters, digits, - or _");
  const plain = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

/** The token of a person's report of this number (from 0) to a question, in hexadecimal. */
export async function token(invitation, series, question, number) {
  const digest = await new Keyed(invitation, "rumor admission", series, question, number).digest();
  return toHex(digest.slice(0, 16));
}

/**
 * One-time tokens: an invitation admits its holder, and the tokens that it gives for different
 * questions have nothing in common that a collector could see.
 */

import { concat, toHex, utf8 } from "./bytes.js";
import { RumorError } from "./errors.js";
import { Keyed, subtle } from "./randomness.js";
import { madeOf } from "./sent.js";

const PATTERN = /^rumor-invitation-([\w-]{24})$/;

/** The bytes of an invitation; a wrong one is not repeated, since it may be a slip. */
export async function readInvitation(text) {
  const code = PATTERN.exec(String(text ?? "").trim())?.[1] ?? "";
  const plain = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
  const secret = bytes.slice(0, 16);
  const check = new Uint8Array(await subtle().digest("SHA-256", concat(utf8("rumor invitation"), secret)));
  if (bytes.length === 18 && bytes[16] === check[0] && bytes[17] === check[1]) return secret;
  throw new RumorError(
    "invitation",
    "an invitation must be 'rumor-invitation-' and 24 letters, digits, - or _, just as it was sent; got another text",
  );
}

/** The token of a person's report of this number (from 0) to a question, in hexadecimal. */
export async function token(invitation, series, question, number) {
  const digest = await new Keyed(invitation, "rumor admission", series, question, number).digest();
  return toHex(digest.slice(0, 16));
}

/** A waiting report with the token of another invitation, in place. */
export async function readmitted(state, row, invitation) {
  const code = await readInvitation(invitation);
  const made = await token(code, row.series, row.question, madeOf(state, row.id)?.number ?? 0);
  for (const each of state.pending) if (each.id === row.id) each.token = made;
  return { ...row, token: made };
}

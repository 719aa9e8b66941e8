/**
 * One-time tokens derived from an invitation. The tokens of one invitation for different questions have nothing in common
 * that a collector could see.
 */

import { fromBase64 } from "./base64.js";
import { toHex, utf8 } from "./bytes.js";
import { RumorError, formatValue } from "./errors.js";
import { sha256 } from "./host.js";
import { Keyed } from "./randomness.js";
import { withdrawalKeyOf } from "./withdrawal-keys.js";

/** Types of refusals of a token. */
export const REFUSALS = ["not-admitted"];
const PATTERN = /^rumor-(bound-|)invitation-([\w-]{24})$/;

/** Return whether an invitation is bound to an issuer. */
export const isBound = (text) => PATTERN.exec(String(text ?? "").trim())?.[1] === "bound-";

/**
 * Return the secret bytes of an invitation. An error never repeats `text`, which may be another secret; where the form is
 * right and the checksum is wrong, its `reason` is "mistyped".
 */
export async function readInvitation(text) {
  const code = PATTERN.exec(String(text ?? "").trim())?.[2];
  if (!code) {
    throw new RumorError(
      "invitation",
      "an invitation must be 'rumor-invitation-' (or 'rumor-bound-invitation-') and 24 letters, digits, - or _, " +
        "just as it was sent; got another text",
    );
  }
  const bytes = fromBase64(code.replaceAll("-", "+").replaceAll("_", "/"));
  const secret = bytes.slice(0, 16);
  const check = await sha256(utf8(isBound(text) ? "rumor bound invitation" : "rumor invitation"), secret);
  if (bytes.length === 18 && bytes[16] === check[0] && bytes[17] === check[1]) return secret;
  const sentence = "an invitation must be typed just as it was sent; the checksum of this one does not match";
  throw Object.assign(new RumorError("invitation", sentence), { reason: "mistyped" });
}

/** Return the token of the respondent's report with this number (from 0) to a question, in hexadecimal. */
export async function deriveToken(invitation, series, question, number) {
  const digest = await new Keyed(invitation, "rumor admission", series, question, number).digest();
  return toHex(digest.slice(0, 16));
}

/** Refuse an answer without an invitation. */
export function refuseUninvited({ name }) {
  throw new RumorError("invitation", `${formatValue(name)} is for invited people; give the invitation you were sent`);
}

/** Return a function that gives the tokens of a question by the numbers of its reports. */
export async function tokenSource(state, contract, invitation) {
  if (invitation === undefined) refuseUninvited(contract);
  const code = await readInvitation(invitation);
  return (id) => async (number) => ({ token: await deriveToken(code, contract.series, id, number) });
}

/** Give a pending report the token of another invitation, and return it: the same id and bytes, at no further cost. */
export async function replaceToken(contract, row, invitation, change) {
  const code = await readInvitation(invitation);
  return change(async (state) => {
    const other = await deriveToken(code, row.series, row.question, withdrawalKeyOf(state, row.id)?.number ?? 0);
    for (const each of state.pending) if (each.id === row.id) each.token = other;
    return { ...row, token: other };
  });
}

/**
 * Envelopes: reports sealed for the collector's gateway, which a relay forwards unopened. HPKE (RFC 9180) in base mode with
 * P-256, HKDF-SHA-256 and AES-128-GCM; docs/reference/bytes.md specifies every byte.
 */

import { checkUrl } from "./addresses.js";
import { concat, fromHex, toHex, utf8 } from "./bytes.js";
import { checkMembers, refuse, checkInteger } from "./checks.js";
import { RumorError } from "./errors.js";
import { hmac } from "./host.js";
import { agree, encrypt, isPoint } from "./sealing.js";
import { request, unreachable } from "./transport.js";

const KEM = utf8("KEM\x00\x10");
const SUITE = utf8("HPKE\x00\x10\x00\x01\x00\x01");
const NOTHING = new Uint8Array(0);
const HOUR = 3_600_000;

/** The admission header of an envelope (the bytes before the report), by the collection's admission. */
const ADMISSION_HEADERS = {
  open: ({ id }) => fromHex(id),
  invited: ({ id, token }) => fromHex(id + token),
  // The id follows from the token.
  blind: ({ token }) => fromHex(token),
};

/** Check the `relay` of a contract. */
export async function checkRelay(given) {
  const { url, key, crowd, days, turn_hours: hours } = checkMembers("relay", given, ["url", "key", "crowd", "days"], { turn_hours: null });
  checkUrl(url, "a relay");
  const rule = "key of relay must be a point of the curve P-256 in 130 hexadecimal digits";
  if (typeof key !== "string" || !/^04[0-9a-f]{128}$/.test(key) || !(await isPoint(key))) refuse(rule, key);
  checkInteger("crowd of relay", crowd, 2, 1e9);
  checkInteger("days of relay", days, 1, 3650);
  if (hours !== undefined) checkInteger("turn_hours of relay", hours, 1, 8760);
}

// An empty salt is a hash's length of zeros.
const extract = (suite, salt, label, material) =>
  hmac(salt.length ? salt : new Uint8Array(32), utf8("HPKE-v1"), suite, utf8(label), material);

const expand = async (suite, key, label, info, length) =>
  (await hmac(key, Uint8Array.of(0, length), utf8("HPKE-v1"), suite, utf8(label), info, Uint8Array.of(1))).slice(0, length);

/** Return the key and nonce that both sides derive from their shared secret. */
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

/** Seal bytes for the holder of the private key of `receiver`, a public key in hexadecimal. */
export async function seal(receiver, info, plain) {
  const { enc, joint } = await agree(receiver);
  const { key, nonce } = await schedule(joint, enc, fromHex(receiver), info);
  return concat(enc, await encrypt(key, nonce, plain));
}

/** Return the number of the turn at `time` (milliseconds since 1970 UTC); undefined without turns. */
const turnAt = ({ turn_hours: hours }, time) => (hours === undefined ? undefined : Math.floor(time / (HOUR * hours)));

/** Return the HPKE info of an envelope, which binds it to its contract, question and turn (if any). */
export const infoOf = (digest, question, turn) =>
  turn === undefined ? concat(utf8("rumor envelope 1"), fromHex(digest), utf8(question))
  : concat(utf8("rumor envelope 2"), fromHex(digest), fromHex(turn.toString(16).padStart(16, "0")), utf8(question));

/** Refuse a contract under which one respondent's reports could fill a batch of the relay. */
export function checkBatchSize({ relay, questions }) {
  if (!relay || relay.turn_hours) return;
  for (const { id, reports_per_person: reports } of questions) {
    if (reports >= relay.crowd) {
      throw new RumorError(
        "contract",
        `question '${id}': reports_per_person must be below the relay's crowd, ${relay.crowd}, or the relay must say ` +
          `turn_hours, so that one person's reports never fill a batch; got ${reports}`,
      );
    }
  }
}

/** Refuse a report in the turn of the question's last report. */
function checkTurn(state, { relay: { turn_hours: hours } }, { names }, question, turn) {
  const mine = (state.turns ?? []).filter((row) => names.includes(row.series) && row.question === question);
  const ends = Math.max(0, ...mine.map((row) => row.ends));
  if (turn === undefined || turn * hours >= ends) return;
  const begins = new Date(HOUR * hours * Math.ceil(ends / hours)).toISOString();
  throw new RumorError(
    "turn",
    `question '${question}' takes one report of a person every ${hours} hours, and this device has made one; ` +
      `the next turn begins at ${begins.slice(0, 10)} ${begins.slice(11, 16)} UTC`,
  );
}

/** Store the hour at which the turn of a new report ends, in place. */
function noteTurn(state, { relay: { turn_hours: hours } }, { name: series }, question, turn) {
  if (turn === undefined) return;
  const others = (state.turns ?? []).filter((row) => row.series !== series || row.question !== question);
  state.turns = [...others, { series, question, ends: (turn + 1) * hours }];
}

/**
 * Return the members that a pending report needs to go through the relay: sealed once, so that retries are the same bytes.
 * Relays accept the current turn and the one before; `expires` is the hour from which they refuse the report.
 */
async function sealReport({ relay, admission, digest }, row, turn) {
  const body = concat(ADMISSION_HEADERS[admission](row), fromHex(row.report));
  const bytes = await seal(relay.key, infoOf(digest, row.question, turn), body);
  return { relay: relay.url, sealed: toHex(bytes), ...(turn !== undefined && { turn, expires: (turn + 2) * relay.turn_hours }) };
}

/**
 * Return a function that seals reports of the questions `ids` at `time` (milliseconds since 1970) and notes their turn, in
 * place. Turns are counted per `scope`, so a collector with the same series name cannot block another's.
 * Refuses, before anything is drawn or charged, reports that the respondent may not send now.
 */
export function makeSealer(state, contract, scope, ids, time) {
  checkBatchSize(contract);
  const turn = turnAt(contract.relay, time);
  for (const id of ids) checkTurn(state, contract, scope, id, turn);
  return (row) => {
    noteTurn(state, contract, scope, row.question, turn);
    return sealReport(contract, row, turn);
  };
}

/** Return whether the turn of a pending report is over at `time` (milliseconds since 1970 UTC). */
const isOver = ({ expires }, time) => expires !== undefined && expires * HOUR <= time;

/** Send one envelope to its relay at `time` (milliseconds since 1970); returns when the relay has stored it. */
export async function sendToRelay(row, time) {
  // Checked last, since pauses and delays may have lasted until the turn was over.
  if (isOver(row, time)) {
    throw new RumorError("over", "reports dropped, at no refund, because their turn was over before they could be sent: ");
  }
  const { relay, contract, question, sealed, turn } = row;
  const url = `${relay}/v1/relay/${contract}/${question}${turn === undefined ? "" : `/${turn}`}`;
  const { taken } = await request(url, { body: fromHex(sealed) }, 202);
  if (taken !== 1) throw unreachable(`${url} does not answer as a relay does`);
  return { accepted: 1, duplicates: 0 };
}

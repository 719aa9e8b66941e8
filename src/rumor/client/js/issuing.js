/**
 * Blind tokens, for contracts with an issuer: made on the device, signed blindly, each spent on one report. A token is stored
 * before it is sent for signing, so that a device that lost its connection asks for the same one again; its blinding factor
 * is deleted once it is signed. A token belongs to the scope that it was fetched for (`scope`, in hexadecimal), so a
 * collector that copies an issuer's public keys gets none.
 */

import { checkUrl } from "./addresses.js";
import { isBound, readInvitation, refuseUninvited } from "./admission.js";
import { SIZE, blind, finalize } from "./blind.js";
import { fromBase64, toBase64 } from "./base64.js";
import { concat, fromHex, toHex, utf8 } from "./bytes.js";
import { checkMembers, refuse } from "./checks.js";
import { mechanismOf } from "./contract.js";
import { RumorError } from "./errors.js";
import { sha256 } from "./host.js";
import { faultOfModulus, ruleForModuli } from "./moduli.js";
import { checkIssuer, scopeOf } from "./pins.js";
import { Keyed } from "./randomness.js";
import { withdrawalKeyOf } from "./withdrawal-keys.js";
import { randomHex } from "./state.js";
import { request } from "./transport.js";

/** Types of refusals of a token: unknown, or spent on another report. */
export const REFUSALS = ["not-admitted", "id-conflict"];
const MOST_TOKENS = 1000;
const AT_ONCE = 50;
const MODULUS = /^[0-9a-f]{512}$/;

/** Return the `issuer` of a contract, checked: its url, and a key for each question. */
export function readIssuer({ issuer, admission }, questions) {
  if (admission !== "blind") refuse("issuer goes with admission 'blind'", admission);
  const { url, keys } = checkMembers("an issuer", issuer, ["url", "keys"]);
  checkUrl(url, "an issuer");
  checkMembers("the keys of an issuer", keys, questions.map(({ id }) => id));
  for (const { id } of questions) checkKey(id, keys[id]);
  if (new Set(Object.values(keys)).size < questions.length) refuse("every question must have a key of its own", keys);
  const tokens = questions.reduce((sum, question) => sum + countReports(question), 0);
  if (tokens > MOST_TOKENS) refuse(`admission 'blind' takes at most ${MOST_TOKENS} reports of a person in all`, tokens);
  return Object.freeze({ url, keys: Object.freeze({ ...keys }) });
}

function checkKey(id, key) {
  const what = `the key of question '${id}' must be`;
  if (typeof key !== "string" || !MODULUS.test(key)) refuse(`${what} ${2 * SIZE} hexadecimal digits`, key);
  const fault = faultOfModulus(key, 8 * SIZE);
  if (fault) throw new RumorError("contract", `${what} ${ruleForModuli(8 * SIZE)}; this one ${fault}`);
}

/** Return how many reports one respondent may send, in all rounds together. */
const countReports = (question) => question.reports_per_person * mechanismOf(question).rounds;

const hashOf = (text, data) => sha256(utf8(text), data);

/** Return the name that device and issuer use for a question's key. */
export const keyName = async (key) => toHex((await hashOf("rumor token issuer", fromHex(key))).slice(0, 16));

/** Return the credential that an invitation shows to the issuer at `url`, and the person's name there. */
export async function credentialOf(invitation, series, url) {
  const context = isBound(invitation) ? ["rumor enrolment 2", series, url] : ["rumor enrolment", series];
  const credential = await new Keyed(await readInvitation(invitation), ...context).digest();
  return { credential, person: toHex(await hashOf("rumor invited person", credential)) };
}

/**
 * Have the issuer sign every unsigned token of an invitation: for all questions, answered or not, so that the issuer does
 * not learn which ones are answered. `change` runs a transaction on the stored state.
 */
export async function enrol(contract, invitation, change) {
  const { url, keys } = contract.issuer;
  const { credential, person } = await credentialOf(invitation, contract.series, url);
  const names = new Map();
  for (const { id } of contract.questions) names.set(await keyName(keys[id]), id);
  const wanted = await change(async (state) => {
    const found = scopeOf(state, contract);
    checkIssuer(found, contract);
    const tokens = (state.tokens ??= []);
    const scope = asHex(tokenOwner(found));
    claimTokens(state, person, found, scope);
    for (const [key, id] of names) {
      const known = tokens.filter((row) => row.person === person && row.key === key).length;
      for (let number = known; number < countReports(contract.question(id)); number++) {
        const opening = randomHex(48);
        const made = await blind(keys[id], await tokenMessage(fromHex(opening)));
        // Not drawn again: the issuer's key is dishonest, so the respondent gets an error.
        if (!made) refuseMarkingKey(id, url);
        tokens.push({ person, key, number, opening, scope, ...made });
      }
    }
    return tokens.filter((row) => row.person === person && row.blinded && names.has(row.key));
  });
  for (let start = 0; start < wanted.length; start += AT_ONCE) {
    const some = wanted.slice(start, start + AT_ONCE);
    const answers = await requestSignatures(url, credential, some);
    await change(async (state) => {
      for (const [i, { key, number, blinded }] of some.entries()) {
        const row = state.tokens.find((each) => each.person === person && each.key === key && each.number === number);
        if (row?.blinded !== blinded) continue; // signed in another tab meanwhile
        const modulus = keys[names.get(key)];
        row.signature = await finalize(modulus, await tokenMessage(fromHex(row.opening)), answers[i], row.inverse);
        if (!row.signature) throw new RumorError("refused", "an issuer must sign with the contract's keys; this one does not");
        delete row.blinded;
        delete row.inverse;
      }
    });
  }
}

const asHex = (text) => toHex(utf8(text));

/** Return the scope name that tokens are stored under: before the first answer, the series name belongs to no scope. */
const tokenOwner = ({ name, met, pin }) => (pin ? name : met);

/**
 * Move tokens of a person to a scope, in place: those of no pinned scope, and those of a pin that this scope inherits. The
 * person's invitation for this contract is needed for that, since a stranger may claim to revise the pinned contract. Tokens
 * of older versions have no scope: they are of the first collector of their series.
 */
function claimTokens(state, person, { series, names }, scope) {
  const inherited = names.slice(1).map(asHex);
  const kept = state.pins.map((pin) => asHex(pin.series)).filter((name) => !inherited.includes(name));
  for (const row of state.tokens) {
    if (row.person === person && !kept.includes(row.scope ?? asHex(series))) row.scope = scope;
  }
}

/** Move the tokens of a scope, in place, to the name that it has after its first answer. */
export function keepTokens(state, scope) {
  for (const row of state.tokens ?? []) if (row.scope === asHex(tokenOwner(scope))) row.scope = asHex(scope.name);
}

/** Refuse an issuer's key that could mark this device: it shares a factor with a token. */
function refuseMarkingKey(id, url) {
  throw new RumorError(
    "issuer",
    `an issuer's key must be a product of two large primes; that for question '${id}' of ${url} shares a ` +
      "factor with a token of this device, and could mark it; nothing was sent there",
  );
}

/** Return the issuer's blind signatures of these tokens. */
async function requestSignatures(url, credential, rows) {
  const tokens = rows.map(({ key, number, blinded }) => ({ key: toBase64(fromHex(key)), number, blinded: toBase64(fromHex(blinded)) }));
  const body = JSON.stringify({ credential: toBase64(credential), tokens });
  const headers = { "Content-Type": "application/json" };
  const { signatures } = await request(`${url}/v1/tokens`, { headers, body }).catch(refuseWithoutIssuer);
  try {
    const answers = signatures.map(fromBase64);
    if (answers.length === rows.length && answers.every(({ length }) => length === SIZE)) return answers;
  } catch {
    // A malformed answer counts as no answer, below.
  }
  return refuseWithoutIssuer({ code: "unreachable", message: `${url} does not answer as an issuer does` });
}

/** Throw the error of a device that got no tokens: no report was made. */
function refuseWithoutIssuer(problem) {
  if (problem.type === "not-admitted") {
    throw new RumorError("invitation", "your invitation is not known to the issuer, or another device has used it; nothing was made or spent");
  }
  if (problem.code !== "unreachable") throw problem;
  throw new RumorError("issuer", `answers need tokens of the issuer, which cannot be reached (${problem.message}); nothing was made or spent`);
}

/** Return the message of the token with this opening: 32 random bytes, and the hash of a key. */
export const tokenMessage = async (opening) =>
  concat(opening.slice(0, 32), await hashOf("rumor token key", opening.slice(32)));

/** Return the id of the report that a token admits. */
export const tokenId = async (message) => toHex((await hashOf("rumor token id", message)).slice(0, 16));

/** Spend a token on a report to a question, in place: one of `person`, or of any; null where none is left. */
async function takeToken(state, contract, question, person) {
  const key = await keyName(contract.issuer.keys[question]);
  const scope = scopeOf(state, contract);
  const owner = asHex(tokenOwner(scope));
  // A token of an older version, without a scope, belongs to a pinned series unless that series had no blind tokens.
  const older = scope.pin && (scope.pin.way?.blind ?? true) ? asHex(contract.series) : undefined;
  const left = (state.tokens ?? []).filter((row) =>
    row.key === key && (row.scope ?? older) === owner && row.signature && !row.report && (person === undefined || row.person === person));
  const row = left.sort((a, b) => a.number - b.number)[0];
  if (!row) return null;
  const { opening, signature } = row;
  const message = await tokenMessage(fromHex(opening));
  const id = await tokenId(message);
  Object.assign(row, { report: id, opening: "" });
  delete row.signature;
  return { token: toHex(message) + signature, key: opening, id };
}

/** Return a function that gives the signed tokens of a question, of whichever invitation. */
export const tokenSource = async (state, contract) => (id) => async () =>
  (await takeToken(state, contract, id)) ?? refuseUninvited(contract);

/** Give a pending report a token of another invitation, at no further cost, and return it; unchanged where there is none. */
export async function replaceToken(contract, row, invitation, change) {
  const { person } = await credentialOf(invitation, contract.series, contract.issuer.url);
  await enrol(contract, invitation, change).catch(() => {});
  return change(async (state) => {
    // Tokens of the same invitation are kept: otherwise a lying collector could drain them one by one.
    const owner = (state.tokens ?? []).find((each) => each.report === row.id)?.person;
    const other = owner === person ? null : await takeToken(state, contract, row.question, person);
    if (!other) return row;
    const { token, key, id } = other;
    Object.assign(withdrawalKeyOf(state, row.id) ?? {}, { id, key });
    for (const each of state.pending) if (each.id === row.id) Object.assign(each, { id, token });
    return { ...row, id, token };
  });
}

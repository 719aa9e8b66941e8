/**
 * Requests to a collector, relay or issuer, without cookies, referrer or redirects. Only well-formed answers of a collector
 * count; anything else counts as being offline.
 */

import { RumorError, formatValue } from "./errors.js";

const PROBLEM = "urn:rumor:problem:";
// Types of problems that pass by themselves.
const TRANSIENT = ["rate", "unavailable", "timeout", "failed"];

const LONGEST_PAUSE = 30;

/** Wait for a number of seconds. */
export const sleep = (seconds) => new Promise((resume) => setTimeout(resume, 1000 * seconds));

/** Return the error of a server that cannot be reached now; `wait` is the pause in seconds that it asked for. */
export const unreachable = (sentence, wait = 0) => Object.assign(new RumorError("unreachable", sentence), { wait });

/**
 * Send a request and return the JSON object of the answer. Throws a RumorError: "unreachable" (with the seconds to `wait`),
 * or "refused" (with the `type` of the problem and the `indices` that it names).
 * @param {string} url
 * @param {RequestInit} [options]
 * @param {number} [expected] the status of a successful answer
 */
export async function request(url, options = {}, expected = 200) {
  let response, answer;
  try {
    response = await fetch(url, {
      credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", cache: "no-store",
      signal: AbortSignal.timeout(10_000), ...options,
    });
    answer = await response.json().catch(() => null);
  } catch (problem) {
    throw unreachable(`${url} cannot be reached (${problem.cause?.message ?? problem.message})`);
  }
  const object = answer && typeof answer === "object" ? answer : {};
  if (response.status === expected && object === answer) return object;
  const wait = Number(/^\d{1,5}$/.exec(response.headers.get("Retry-After") ?? "")?.[0] ?? 0);
  if (response.ok) throw unreachable(`${url} does not answer as a collector does`);
  const type = String(object.type).startsWith(PROBLEM) ? object.type.slice(PROBLEM.length) : null;
  if (type === null) throw unreachable(`${url} answered with status ${response.status}`, wait);
  if (TRANSIENT.includes(type)) throw unreachable(String(object.detail), wait);
  const indices = Array.isArray(object.refused) ? object.refused : [];
  throw Object.assign(new RumorError("refused", String(object.detail)), { type, indices });
}

/**
 * Run `work` up to `attempts` times while the server cannot be reached, after growing pauses (from `pause` seconds), but no
 * sooner than the server asks for. Where it asks for a long pause, give up for now.
 */
export async function withRetries(work, attempts, pause = 0.25) {
  for (let left = attempts - 1; ; left--) {
    try {
      return await work();
    } catch (problem) {
      if (problem.code !== "unreachable" || left <= 0 || problem.wait > LONGEST_PAUSE) throw problem;
      // Jitter spreads devices that lost their connection at the same time.
      await sleep(Math.max(problem.wait, pause) * (1 + 0.6 * Math.random()));
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }
}

/**
 * Send records (id and report each); returns when the collector has stored all of them.
 * @param {string} [token] the admission token, where the collection needs one
 * @param {number} [stratum] the groups of all reports, where the contract has groups
 * @returns {Promise<{ accepted: number, duplicates: number }>}
 */
export async function sendRecords(base, digest, question, records, count, token, stratum) {
  const url = `${base}/v1/reports`;
  const headers = {
    "Content-Type": "application/vnd.rumor.reports",
    "Rumor-Collection": digest,
    "Rumor-Question": question,
    ...(stratum !== undefined && { "Rumor-Group": String(stratum) }),
    ...(token && { "Rumor-Token": token }),
  };
  const { accepted, duplicates } = await request(url, { method: "POST", headers, body: records });
  if (accepted + duplicates === count) return { accepted, duplicates };
  throw unreachable(`${url} does not answer as a collector does; got ${formatValue({ accepted, duplicates })}`);
}

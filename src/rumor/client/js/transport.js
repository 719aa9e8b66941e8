/**
 * Speaking to a collector, and saying no more than one must: no cookies, no referrer, no
 * redirects. Only the answer of a real collector counts; anything else counts as being offline.
 */

import { RumorError, formatValue } from "./errors.js";

const PROBLEM = "urn:rumor:problem:";
// Problems that pass by themselves.
const TRANSIENT = ["rate", "unavailable", "timeout", "failed"];

const LONGEST_PAUSE = 30;

export const sleep = (count) => new Promise((resume) => setTimeout(resume, 1000 * count));

/** The collector cannot be reached just now. */
export const unreachable = (sentence, wait = 0) => Object.assign(new RumorError("unreachable", sentence), { wait });

/**
 * The JSON object that a collector answers with. Throws a RumorError: "unreachable" (with the
 * seconds to `wait`), or "refused" (with the `type` of the problem and the `indices` it names).
 * @param {string} url
 * @param {RequestInit} [options]
 * @param {number} [good] the status of a real answer
 */
export async function request(url, options = {}, good = 200) {
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
  if (response.status === good && object === answer) return object;
  const wait = Number(/^\d{1,5}$/.exec(response.headers.get("Retry-After") ?? "")?.[0] ?? 0);
  if (response.ok) throw unreachable(`${url} does not answer as a collector does`);
  const type = String(object.type).startsWith(PROBLEM) ? object.type.slice(PROBLEM.length) : null;
  if (type === null) throw unreachable(`${url} answered with status ${response.status}`, wait);
  if (TRANSIENT.includes(type)) throw unreachable(String(object.detail), wait);
  const indices = Array.isArray(object.refused) ? object.refused : [];
  throw Object.assign(new RumorError("refused", String(object.detail)), { type, indices });
}

/**
 * Do `work`, up to `attempts` times where the collector cannot be reached: after growing pauses (in seconds),
 * and no sooner than it asks for; where it asks for a long pause, not now.
 */
export async function withRetries(work, attempts, pause = 0.25) {
  for (let left = attempts - 1; ; left--) {
    try {
      return await work();
    } catch (problem) {
      if (problem.code !== "unreachable" || left <= 0 || problem.wait > LONGEST_PAUSE) throw problem;
      // Jitter keeps devices that were cut off together from coming back together.
      await sleep(Math.max(problem.wait, pause) * (1 + 0.6 * Math.random()));
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }
}

/**
 * Send records of id and report; returns when all are durable at the collector.
 * @param {string} base
 * @param {string} digest
 * @param {string} question
 * @param {Uint8Array} records
 * @param {number} count
 * @param {string} [token] what admits one report, where the collection asks for it
 * @returns {Promise<{ accepted: number, duplicates: number }>}
 */
export async function sendRecords(base, digest, question, records, count, token) {
  const url = `${base}/v1/reports`;
  const headers = {
    "Content-Type": "application/vnd.rumor.reports",
    "Rumor-Collection": digest,
    "Rumor-Question": question,
    ...(token && { "Rumor-Token": token }),
  };
  const { accepted, duplicates } = await request(url, { method: "POST", headers, body: records });
  if (accepted + duplicates === count) return { accepted, duplicates };
  throw unreachable(`${url} does not answer as a collector does; got ${formatValue({ accepted, duplicates })}`);
}

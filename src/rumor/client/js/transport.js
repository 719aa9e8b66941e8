/** Requests to a collector, relay or issuer. Only well-formed answers count; others mean offline. */

import { RumorError, formatValue } from "./errors.js";
import { exchange, sleep } from "./host.js";

const PROBLEM = "urn:rumor:problem:";
// Types of problems that pass by themselves.
const TRANSIENT = ["rate", "unavailable", "timeout", "failed"];

const LONGEST_PAUSE = 30;

/** Return the error of a server out of reach, which asked to `wait` for seconds. */
export const unreachable = (sentence, wait = 0) => Object.assign(new RumorError("unreachable", sentence), { wait });

/**
 * Send a request (with its `headers` and `body`), expect a status, and return the JSON object of the answer. Throws a
 * RumorError: "unreachable" (with the seconds to `wait`), or "refused" (with the problem's `type` and the `indices` it names).
 */
export async function request(url, options, expected = 200) {
  const { status, answer, wait: asked } = await exchange(url, options).catch((problem) => {
    throw unreachable(`${url} cannot be reached (${problem.cause?.message ?? problem.message})`);
  });
  const object = answer && typeof answer === "object" ? answer : {};
  if (status === expected && object === answer) return object;
  const wait = Number(/^\d{1,5}$/.exec(asked ?? "")?.[0] ?? 0);
  if (status >= 200 && status < 300) throw unreachable(`${url} does not answer as a collector does`);
  const type = String(object.type).startsWith(PROBLEM) ? object.type.slice(PROBLEM.length) : null;
  if (type === null) throw unreachable(`${url} answered with status ${status}`, wait);
  if (TRANSIENT.includes(type)) throw unreachable(String(object.detail), wait);
  const indices = Array.isArray(object.refused) ? object.refused : [];
  throw Object.assign(new RumorError("refused", String(object.detail)), { type, indices });
}

/**
 * Run `work` up to `attempts` times while the server cannot be reached, after growing pauses (from `pause` seconds), but no
 * sooner than the server asks for; give up where it asks for a long pause.
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

/** Send records (id and report each), with a token and groups where there are any; returns when all are stored. */
export async function sendRecords(base, digest, question, records, count, token, stratum) {
  const url = `${base}/v1/reports`;
  const headers = {
    "Content-Type": "application/vnd.rumor.reports",
    "Rumor-Collection": digest,
    "Rumor-Question": question,
    ...(stratum !== undefined && { "Rumor-Group": String(stratum) }),
    ...(token && { "Rumor-Token": token }),
  };
  const { accepted, duplicates } = await request(url, { headers, body: records });
  if (accepted + duplicates === count) return { accepted, duplicates };
  throw unreachable(`${url} does not answer as a collector does; got ${formatValue({ accepted, duplicates })}`);
}

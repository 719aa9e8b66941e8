/**
 * Withdrawal of reports by their keys, one request per question. A report with a blind token that goes through a relay needs
 * a request of its own, with the token, since it may not have arrived yet.
 */

import { toBase64 } from "./base64.js";
import { fromHex } from "./bytes.js";
import { RumorError, formatValue } from "./errors.js";
import { withRetries, request, unreachable } from "./transport.js";

const MOST_KEYS = 1000;
const ATTEMPTS = 3;

/**
 * Return whether a withdrawal key may be shown to the collector at `origin`. Another collector of the same series name would
 * answer that it has no such report, and the key would be lost. Rows of older versions name no collector: then the pin of the
 * contract does, or the first pin of the series. Where no collector is known, any may be asked.
 */
export function mayShowKey({ pins }, { collector, contract, series }, origin) {
  const pin = pins.find((each) => each.contract === contract) ?? pins.find((each) => each.series === series);
  const known = collector || pin?.collector;
  return !known || known === origin;
}

/**
 * Withdraw the reports of these rows; calls `forget` with the ids of each group that was withdrawn.
 * @param {string} base
 * @param {{ id: string, key: string, contract: string, question: string, token?: string }[]} rows
 * @param {(ids: Set<string>) => Promise<unknown>} forget
 */
export async function withdrawAll(base, rows, forget) {
  const outcome = { withdrawn: 0, absent: 0, left: 0, problem: null, refusal: null };
  let attempts = ATTEMPTS;
  for (const group of groupRows(rows)) {
    try {
      const { withdrawn, absent } = await withRetries(() => withdraw(base, group), attempts);
      await forget(new Set(group.map(({ id }) => id)));
      outcome.withdrawn += withdrawn;
      outcome.absent += absent;
    } catch (problem) {
      if (!(problem instanceof RumorError)) throw problem;
      // After one group failed every attempt, the others get one attempt each.
      if (problem.code === "unreachable") attempts = 1;
      outcome.left += group.length;
      Object.assign(outcome, { problem: problem.message, refusal: problem.type ?? null });
    }
  }
  return outcome;
}

/** Withdraw one group; returns when the collector has deleted all of it. */
async function withdraw(base, group) {
  const url = `${base}/v1/withdrawals`;
  const [{ contract, question, token }] = group;
  const headers = { "Content-Type": "application/json", "Rumor-Collection": contract, ...(token && { "Rumor-Token": token }) };
  const keys = group.map(({ key }) => toBase64(fromHex(key)));
  const { withdrawn, absent } = await request(url, { headers, body: JSON.stringify({ question, keys }) });
  if (withdrawn + absent === keys.length) return { withdrawn, absent };
  throw unreachable(`${url} does not answer as a collector does; got ${formatValue({ withdrawn, absent })}`);
}

/** Group rows by contract and question into requests of limited size, in the order of their random ids. */
function groupRows(rows) {
  const found = new Map();
  for (const row of [...rows].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const name = `${row.contract} ${row.question} ${row.token ?? ""}`;
    const mine = found.get(name) ?? found.set(name, [[]]).get(name);
    if (mine[mine.length - 1].length === MOST_KEYS) mine.push([]);
    mine[mine.length - 1].push(row);
  }
  return [...found.values()].flat();
}

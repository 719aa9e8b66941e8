/**
 * Taking reports back: their keys are shown, those of one question at a time. A report under a signed token
 * that goes through a relay has a request of its own, with the token: it may not have arrived yet.
 */

import { fromHex } from "./bytes.js";
import { RumorError, formatValue } from "./errors.js";
import { withRetries, request, unreachable } from "./transport.js";

const MOST_KEYS = 1000;
const ATTEMPTS = 3;

/**
 * Whether the key of a report may be shown to the collector at `origin`: a namesake would say that it has no
 * such report, and the key would be lost. A row from before names no collector: the pin of its contract does, or else
 * that of the first collector of its series. Where nobody knows the collector, anybody may be it.
 */
export function mayShowKey({ pins }, { collector, contract, series }, origin) {
  const pin = pins.find((each) => each.contract === contract) ?? pins.find((each) => each.series === series);
  const known = collector || pin?.collector;
  return !known || known === origin;
}

/**
 * Take back the reports of these rows; `forget` is told of each group that is gone.
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
      // Who waited in vain once waits for nothing more.
      if (problem.code === "unreachable") attempts = 1;
      outcome.left += group.length;
      Object.assign(outcome, { problem: problem.message, refusal: problem.type ?? null });
    }
  }
  return outcome;
}

/** Returns when all of these are gone from the collector. */
async function withdraw(base, group) {
  const url = `${base}/v1/withdrawals`;
  const [{ contract, question, token }] = group;
  const headers = { "Content-Type": "application/json", "Rumor-Collection": contract, ...(token && { "Rumor-Token": token }) };
  const keys = group.map(({ key }) => btoa(String.fromCharCode(...fromHex(key))));
  const { withdrawn, absent } = await request(url, { method: "POST", headers, body: JSON.stringify({ question, keys }) });
  if (withdrawn + absent === keys.length) return { withdrawn, absent };
  throw unreachable(`${url} does not answer as a collector does; got ${formatValue({ withdrawn, absent })}`);
}

/** Of one contract and question, not too many, in the order of their random ids. */
function groupRows(rows) {
  const found = new Map();
  for (const row of [...rows].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const name = `${row.contract} ${row.question} ${row.token ?? ""}`;
    const mine = found.get(name) ?? found.set(name, [[]]).get(name);
    if (mine.at(-1).length === MOST_KEYS) mine.push([]);
    mine.at(-1).push(row);
  }
  return [...found.values()].flat();
}

/**
 * One person's device: answers become private reports, and every report is accounted for. It
 * keeps the limits of the contract itself, and one of its own (`maxEpsilon`) over all collections.
 */

import { concat, fromHex, toHex } from "./bytes.js";
import { mechanismOf } from "./contract.js";
import { RumorError, shown } from "./errors.js";
import { checkedState, debit, newState, randomHex, spendingOf, totalSpent } from "./ledger.js";
import { Keyed, subtle, systemDraws } from "./randomness.js";
import { arrived, madeOf } from "./sent.js";
import { BrowserStore } from "./store.js";
import { sendRecords } from "./transport.js";

const MOST_RECORDS = 1000;
const MOST_BYTES = 500_000;
const LONGEST_PAUSE = 30;
// Refusals that name the reports which are their reason: the others go without them.
const NAMING = ["id-conflict", "invalid-report"];

const current = (kept) => (kept === null ? newState() : checkedState(kept));

/** A report as it is handed out. */
const opened = ({ id, contract, question, report }) =>
  ({ id: fromHex(id), contract, question, report: fromHex(report) });

export class Respondent {
  #store;
  #maxEpsilon;

  /**
   * Open a person's ledger, making it and its secret on first use.
   * @param {{ store?: import("./store.js").Store, maxEpsilon?: number }} [options]
   * @returns {Promise<Respondent>}
   */
  static async open({ store, maxEpsilon } = {}) {
    subtle();
    if (maxEpsilon !== undefined && !(maxEpsilon > 0)) {
      throw new RumorError("limit", `maxEpsilon must be a number above 0; got ${shown(maxEpsilon)}`);
    }
    const person = new Respondent();
    person.#store = store ?? new BrowserStore();
    person.#maxEpsilon = maxEpsilon;
    await person.#change(async () => {});
    return person;
  }

  /**
   * Reports of these answers, by question id: debited and durable, ready to be sent. All of
   * them or none: when one would pass a limit, nothing is made. A collection for invited
   * people needs the `invitation`.
   */
  prepare(contract, answers, { invitation } = {}) {
    return this.#change(async (state) => {
      const invited = contract.admission === "invited";
      if (invited && invitation === undefined) {
        const rule = `${shown(contract.name)} is for invited people`;
        throw new RumorError("invitation", `${rule}; give the invitation you were sent`);
      }
      const admission = invited ? await import("./admission.js") : null;
      const code = await admission?.readInvitation(invitation);
      const given = Object.entries(answers ?? {});
      if (!given.length) throw new RumorError("answer", "answers must name at least one question; got none");
      const secret = fromHex(state.secret);
      const epoch = toHex((await new Keyed(secret, "rumor secret epoch").digest()).slice(0, 8));
      const envelopes = [];
      for (const [id, value] of given) {
        const question = contract.question(id);
        const mechanism = mechanismOf(question);
        const encoded = await mechanism.encode(value);
        const identity = mechanism.identity(encoded, value);
        const tag = await new Keyed(secret, "rumor value tag", contract.series, id, identity).digest();
        const permanent = new Keyed(secret, "rumor permanent answer", contract.series, id);
        const report = mechanism.answer
          ? await mechanism.answer(encoded, permanent, systemDraws())
          : mechanism.draw(encoded, systemDraws());
        const admits = code && ((number) => admission.token(code, contract.series, id, number));
        const made = { tag: toHex(tag.slice(0, 16)), epoch, report, maxEpsilon: this.#maxEpsilon, token: admits };
        envelopes.push(opened(await debit(state, contract, question, made)));
      }
      return envelopes;
    });
  }

  /** What was made and has not been acknowledged, of one contract or of all. */
  pending(contract) {
    const ours = (row) => !contract || row.contract === contract.digest;
    return this.#look((state) => state.pending.filter(ours).map(opened));
  }

  /** What each question has cost so far. */
  spending() {
    return this.#look(spendingOf);
  }

  /** What all reports have cost together, at worst. */
  spent() {
    return this.#look(totalSpent);
  }

  /** Take a new secret: permanent answers are drawn anew and cost anew. */
  reset() {
    return this.#change(async (state) => void (state.secret = randomHex(32)));
  }

  /**
   * Send everything that waits for this collection (its series, earlier contracts included).
   * Being offline is no error: `pending` says how much waits, `problem` why. What is refused
   * waits as well; where the reason was its invitation, another `invitation` sends the same bytes.
   */
  async send(baseUrl, contract, { attempts = 3, pause = 0.25, invitation } = {}) {
    const base = String(baseUrl).replace(/\/+$/, "");
    const outcome = { accepted: 0, duplicates: 0, pending: 0, refused: 0, problem: null, refusal: null };
    const waiting = () => this.#look((state) => state.pending.filter((row) => row.series === contract.series));
    sending: for (let group of groups(await waiting())) {
      while (group.length) {
        try {
          const { accepted, duplicates } = await deliver(base, group, attempts, pause);
          outcome.accepted += accepted;
          outcome.duplicates += duplicates;
          await this.#forget(group);
          group = [];
        } catch (problem) {
          if (!(problem instanceof RumorError)) throw problem;
          if (problem.code === "unreachable") {
            Object.assign(outcome, { problem: problem.message, refusal: null });
            break sending;
          }
          const left = await this.#after(problem, group, invitation);
          const kept = group.length - left.length;
          if (kept) Object.assign(outcome, { problem: problem.message, refusal: problem.type ?? null });
          outcome.refused += kept;
          group = left;
        }
      }
    }
    outcome.pending = (await waiting()).length;
    return outcome;
  }

  /** What is worth sending at once after a refusal; the others stay as they are, and wait. */
  async #after(refusal, group, invitation) {
    if (refusal.type === "not-admitted" && group.length === 1 && invitation) {
      const other = await this.#readmit(group[0], invitation);
      return other.token === group[0].token ? [] : [other];
    }
    const named = new Set(refusal.indices.filter((index) => group[index]));
    return NAMING.includes(refusal.type) && named.size ? group.filter((_, index) => !named.has(index)) : [];
  }

  /** A waiting report with the token of another invitation: the same id and bytes, at no further cost. */
  async #readmit(row, invitation) {
    const admission = await import("./admission.js");
    const code = await admission.readInvitation(invitation);
    return this.#change(async (state) => {
      const number = madeOf(state, row.id)?.number ?? 0;
      const token = await admission.token(code, row.series, row.question, number);
      for (const each of state.pending) if (each.id === row.id) each.token = token;
      return { ...row, token };
    });
  }

  /** How many reports can still be taken back, waiting ones among them: of one series or of all. */
  sent(series) {
    return this.#look((state) => (state.sent ?? []).filter((row) => !series || row.series === series).length);
  }

  /**
   * Take back what was sent (of one series or of all), and what waits. Nothing is refunded; what
   * the collector exported or published before is beyond reach. `left` says how many could not be
   * asked for now, `problem` why.
   */
  async withdraw(baseUrl, { series } = {}) {
    const { withdrawAll } = await import("./withdrawal.js");
    const rows = await this.#look((state) => (state.sent ?? []).filter((row) => !series || row.series === series));
    return withdrawAll(String(baseUrl).replace(/\/+$/, ""), rows, (ids) =>
      this.#change(async (state) => {
        for (const list of ["pending", "sent"]) state[list] = state[list].filter(({ id }) => !ids.has(id));
      }));
  }

  /** Forget the bytes of reports that have arrived, never their cost. */
  #forget(rows) {
    const ids = new Set(rows.map(({ id }) => id));
    return this.#change(async (state) => {
      state.pending = state.pending.filter(({ id }) => !ids.has(id));
      arrived(state, ids);
    });
  }

  #look(read) {
    return this.#store.transaction(async (state) => ({ result: read(current(state)) }));
  }

  #change(work) {
    return this.#store.transaction(async (kept) => {
      const state = current(kept);
      return { result: await work(state), state };
    });
  }
}

/** Send reports of one question, trying again with growing pauses. */
async function deliver(base, group, attempts, pause) {
  const [{ contract, question, token }] = group;
  const records = concat(...group.flatMap(({ id, report }) => [fromHex(id), fromHex(report)]));
  for (let left = attempts - 1; ; left--) {
    try {
      return await sendRecords(base, contract, question, records, group.length, token);
    } catch (problem) {
      if (problem.code !== "unreachable" || left <= 0 || problem.wait > LONGEST_PAUSE) throw problem;
      // Jitter keeps devices that were cut off together from coming back together.
      const seconds = Math.max(problem.wait, pause) * (0.7 + 0.6 * Math.random());
      await new Promise((resume) => setTimeout(resume, 1000 * seconds));
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }
}

/**
 * Reports to be sent together: of one contract and question, and not too many. Their order is
 * that of their random ids, and so is that of the groups: neither tells what was answered first.
 */
function groups(rows) {
  const found = new Map();
  for (const row of [...rows].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const name = `${row.contract} ${row.question}`;
    // A token admits one report.
    const together = row.token ? null : found.get(name)?.at(-1);
    const most = Math.max(1, Math.min(MOST_RECORDS, Math.floor(MOST_BYTES / (16 + row.report.length / 2))));
    if (together && together.length < most) together.push(row);
    else found.set(name, [...(found.get(name) ?? []), [row]]);
  }
  return [...found.values()].flat();
}

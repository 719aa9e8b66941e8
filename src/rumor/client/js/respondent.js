/**
 * One person's device: answers become private reports, and every report is accounted for. It does not
 * trust the collector: it keeps the limits of the contract itself, holds every series to what its first
 * contract promised, and has a limit of its own (`maxEpsilon`) over all collections.
 */

import { concat, fromHex, toHex } from "./bytes.js";
import { mechanismOf } from "./contract.js";
import { RumorError, formatValue } from "./errors.js";
import { CeilingError, debit, findRow, setPin, spendingOf, spentOn, totalSpent } from "./ledger.js";
import { lossOfContract } from "./loss.js";
import { keysOf } from "./permanent.js";
import { nextPin, scopeOf } from "./pins.js";
import { Keyed, subtle, systemDraws } from "./randomness.js";
import { noteArrival, noteCollector, originOf } from "./withdrawal-keys.js";
import { checkedState, newState, randomHex } from "./state.js";
import { BrowserStore } from "./store.js";
import { withRetries, sleep, sendRecords } from "./transport.js";

const MOST_RECORDS = 1000;
const MOST_BYTES = 500_000;
const DAY = 86_400_000;
// Refusals that name the reports which are their reason: the others go without them.
const NAMES_REPORTS = ["id-conflict", "invalid-report"];

/** What admits reports to a collection that is not open to anybody; only their pages load it. */
const admissionModule = ({ issuer, admission }) =>
  issuer ? import("./issuing.js") : admission === "open" ? null : import("./admission.js");
const readState = (kept) => (kept === null ? newState() : checkedState(kept));

/** A report as it is handed out. */
const pendingReport = ({ id, contract, question, report }) =>
  ({ id: fromHex(id), contract, question, report: fromHex(report) });

export class Respondent {
  #store;
  #maxEpsilon;
  #consent;
  #today;

  /**
   * Open a person's ledger, making it and its secret on first use.
   *
   * `maxEpsilon` bounds what everything costs together. Each series is bounded anyway, by what its first
   * contract promised; `consent` asks the person when a revision wants more (without it, that is
   * refused). `today` gives the time that periods and days are counted by.
   * @param {{
   *   store?: import("./store.js").Store,
   *   maxEpsilon?: number,
   *   consent?: (change: import("./rumor.js").Change) => boolean | Promise<boolean>,
   *   today?: () => Date,
   * }} [options]
   * @returns {Promise<Respondent>}
   */
  static async open({ store, maxEpsilon, consent, today = () => new Date() } = {}) {
    subtle();
    if (maxEpsilon !== undefined && !(maxEpsilon > 0)) {
      throw new RumorError("limit", `maxEpsilon must be a number above 0; got ${formatValue(maxEpsilon)}`);
    }
    const person = new Respondent();
    person.#store = store ?? new BrowserStore();
    person.#maxEpsilon = maxEpsilon;
    person.#consent = consent;
    person.#today = today;
    await person.#update(async () => {});
    return person;
  }

  /**
   * Reports of these answers, by question id: debited and durable, ready to be sent. All of
   * them or none: when one would pass a limit, nothing is made. A collection for invited
   * people needs the `invitation`; one that asks some of its questions takes what was drawn (`asked`).
   */
  async prepare(contract, answers, { invitation } = {}) {
    // What is wrong there matters only where a token is missing.
    const missing = contract.issuer && invitation && (await this.enrol(contract, invitation).catch((problem) => problem));
    if (contract.ask) await this.#checkAssigned(contract, Object.keys(answers ?? {}));
    try {
      return await this.#prepare(contract, answers, invitation);
    } catch (reached) {
      if (missing && reached.code === "invitation") throw missing;
      // Asked outside of the transaction: a person may take their time, and their day end.
      if (!(reached instanceof CeilingError) || !(await this.#askConsent(contract, reached))) throw reached;
    }
    if (contract.ask) await this.#checkAssigned(contract, Object.keys(answers));
    return this.#prepare(contract, answers, invitation);
  }

  #prepare(contract, answers, invitation) {
    return this.#update(async (state) => {
      const module = await admissionModule(contract);
      const admits = await module?.tokenSource(state, contract, invitation);
      const given = Object.entries(answers ?? {});
      if (!given.length) throw new RumorError("answer", "answers must name at least one question; got none");
      const sampling = contract.ask && (await import("./assignment.js"));
      const drawn = (await sampling?.drawAssignment(state, contract, this.#dayNumber()))?.questions;
      const scope = scopeOf(state, contract);
      const pin = nextPin(scope, contract, drawn);
      const ceilings = { series: pin.ceiling, device: this.#maxEpsilon };
      const relay = contract.relay && (await import("./relay.js"));
      const seal = relay?.makeSealer(state, contract, scope, Object.keys(answers), this.#today().getTime());
      const envelopes = [];
      for (const [id, value] of given) {
        const question = contract.question(id);
        const made = await this.#report(state, contract, question, value);
        const notes = made.mechanism.notes?.(value) ?? [];
        const told = notes.map((note) => ({ ...note, message: `question '${id}': ${note.message}` }));
        const kept = await debit(state, { ...made, scope }, ceilings, admits?.(id), seal);
        noteCollector(state, kept.id, contract.collector || pin.collector);
        envelopes.push({ ...opened(kept), told });
      }
      setPin(state, pin);
      module?.keepTokens?.(state, scope);
      sampling?.keepAssignment(state, contract, scope);
      return envelopes;
    });
  }

  /** Fetch every token that an invitation gives, where an issuer signs them. `prepare` does it as well. */
  async enrol(contract, invitation) {
    await (await admissionModule(contract))?.enrol?.(contract, invitation, (work) => this.#update(work));
  }

  /**
   * Which questions this person is asked, and on which day: drawn at first, kept ever after. Ask this before
   * anything is shown; only these questions can be answered, on that day. What is no revision is refused.
   */
  async asked(contract) {
    if (!contract.ask) {
      const questions = contract.questions.map(({ id }) => id);
      return { questions, of: questions.length, day: null, days: null, open: true };
    }
    const { drawAssignment } = await import("./assignment.js");
    return this.#update((state) => drawAssignment(state, contract, this.#dayNumber()));
  }

  async #checkAssigned(contract, ids) {
    const { checkAssigned } = await import("./assignment.js");
    // Kept by a transaction of its own: an answer that is refused draws nothing anew.
    checkAssigned(await this.asked(contract), ids, contract, this.#dayNumber());
  }

  #dayNumber() {
    return Math.floor(this.#today().getTime() / DAY);
  }

  /** The report of one answer, and which permanent answer it is of. */
  async #report(state, { series, digest }, question, value) {
    const mechanism = mechanismOf(question);
    const encoded = await encodedAnswer(mechanism, question.id, value);
    const identity = mechanism.identity(encoded, value);
    const { memoDigest, round } = mechanism;
    const secret = fromHex(state.secret);
    const keys = keysOf(secret, series, question.id, memoDigest, identity);
    const epoch = toHex((await new Keyed(secret, "rumor secret epoch").digest()).slice(0, 8));
    const key = { series, question: question.id, round, cell: memoDigest, epoch, period: "", tag: "" };
    const made = { key, question, mechanism, contract: digest };
    if (question.memo !== "period") {
      // Fresh noise costs the same whatever was answered before: no tag tells its values apart.
      if (mechanism.isMemoised) key.tag = toHex((await keys.tag.digest()).slice(0, 16));
      const report = mechanism.drawPermanent
        ? mechanism.reportPermanent(await mechanism.drawPermanent(encoded, keys.person, keys.noise), systemDraws())
        : mechanism.draw(encoded, systemDraws());
      return { ...made, report };
    }
    key.period = `${question.period_days}:${Math.floor(this.#dayNumber() / question.period_days)}`;
    const known = findRow(state, key)?.settled;
    const settled = known ? fromHex(known) : await mechanism.drawPermanent(encoded, keys.person, keys.noiseIn(key.period));
    return { ...made, report: mechanism.reportPermanent(settled, systemDraws()), settled };
  }

  /** Ask for what a revision wants to spend; remember the answer if it is yes. */
  async #askConsent(contract, reached) {
    const { requestConsent } = await import("./agreement.js");
    const { pin } = await this.#read((state) => scopeOf(state, contract));
    const { questions } = await this.asked(contract);
    return requestConsent(contract, reached, pin, questions, this.#consent, (work) => this.#update(work));
  }

  /** What was made and has not been acknowledged, of one contract or of all. */
  pending(contract) {
    const ours = (row) => !contract || row.contract === contract.digest;
    return this.#read((state) => state.pending.filter(ours).map(pendingReport));
  }

  /** What each question has cost so far. */
  spending() {
    return this.#read(spendingOf);
  }

  /** What all reports have cost together, at worst. */
  spent() {
    return this.#read(totalSpent);
  }

  /** What the series of a contract has cost so far, and what it may cost at most. */
  async standing(contract) {
    const [spent, { pin }] = await this.#read(async (state) => {
      const scope = scopeOf(state, contract);
      return [await spentOn(state, scope), scope];
    });
    const { ceiling } = pin ?? lossOfContract(contract, (await this.asked(contract)).questions);
    return { spent, ceiling };
  }

  /** Take a new secret: permanent answers are drawn anew and cost anew. */
  reset() {
    return this.#update(async (state) => void (state.secret = randomHex(32)));
  }

  /**
   * Send everything that waits for this collection (its series, earlier contracts included).
   * Being offline is no error: `pending` says how much waits, `problem` why. What is refused
   * waits as well; where the reason was its invitation, another `invitation` sends the same bytes.
   * What goes through a relay goes alone, after a random `delay` of up to so many seconds; what was not
   * sent before its turn was over is dropped, and `dropped` says how many. `arrived` has the ids of the
   * contract's questions of which a report was taken.
   */
  async send(baseUrl, contract, { attempts = 3, pause = 0.25, invitation, delay = 2, question } = {}) {
    const base = String(baseUrl).replace(/\/+$/, "");
    const origin = originOf(base);
    let over, away;
    const outcome = { accepted: 0, duplicates: 0, pending: 0, refused: 0, dropped: 0, problem: null, refusal: null, arrived: [] };
    // What waits for one collector is not for another one that uses the same name, or says that it revises it.
    const waiting = () => this.#read((state) => {
      const { name, names } = scopeOf(state, contract);
      const isHere = (scope) => state.pins.find(({ series }) => series === scope)?.collector === origin;
      const ours = names.filter((scope) => scope === name || isHere(scope));
      return state.pending.filter((row) =>
        row.series === contract.series && ours.includes(row.scope ?? row.series) && (!question || row.question === question));
    });
    const now = () => this.#today().getTime();
    for (let group of groupRows(await waiting())) {
      // Where nobody is reached, what is over is dropped all the same.
      if (away && !(group[0].expires * 3.6e6 <= now())) continue;
      while (group.length) {
        try {
          if (group[0].relay) await sleep(delay * Math.random());
          const { accepted, duplicates } = await deliver(base, group, attempts, pause, now);
          outcome.accepted += accepted;
          outcome.duplicates += duplicates;
          const [first] = group;
          if (first.contract === contract.digest) outcome.arrived = [...new Set([...outcome.arrived, first.question])];
          await this.#forget(group, first.relay ? undefined : origin);
          group = [];
        } catch (problem) {
          if (!(problem instanceof RumorError)) throw problem;
          if (problem.code === "over") {
            // A turn is over: kept no longer, and told once all are through.
            outcome.dropped += group.length;
            over = problem.message;
            await this.#forget(group);
            break;
          }
          if (problem.code === "unreachable") {
            Object.assign(outcome, { problem: problem.message, refusal: null });
            away = true;
            break;
          }
          const left = await this.#worthResending(problem, group, contract, invitation);
          const kept = group.length - left.length;
          if (kept) Object.assign(outcome, { problem: problem.message, refusal: problem.type ?? null });
          outcome.refused += kept;
          group = left;
        }
      }
    }
    if (outcome.dropped) outcome.problem = [over + outcome.dropped, outcome.problem].filter(Boolean).join("; ");
    outcome.pending = (await waiting()).length;
    return outcome;
  }

  /** What is worth sending at once after a refusal; the others stay as they are, and wait. */
  async #worthResending(refusal, group, contract, invitation) {
    const [row] = group;
    const module = row.token && !row.relay && invitation && (await admissionModule(contract));
    if (module?.REFUSALS.includes(refusal.type)) {
      const other = await module.replaceToken(contract, row, invitation, (work) => this.#update(work));
      return other.token === row.token ? [] : [other];
    }
    const named = new Set(refusal.indices.filter((index) => group[index]));
    return NAMES_REPORTS.includes(refusal.type) && named.size ? group.filter((_, index) => !named.has(index)) : [];
  }

  /** How many reports can still be taken back, waiting ones among them: of one series or of all. */
  sent(series) {
    return this.#read((state) => (state.sent ?? []).filter((row) => !series || row.series === series).length);
  }

  /**
   * Take back what was sent to the collector at `baseUrl` (of one series or of all), and what waits for it.
   * Nothing is refunded; what the collector exported or published before is beyond reach. `left` says how many could not be
   * asked for now, `problem` why.
   */
  async withdraw(baseUrl, { series } = {}) {
    const { mayShowKey, withdrawAll } = await import("./withdrawal.js");
    const base = String(baseUrl).replace(/\/+$/, "");
    const origin = originOf(base);
    const rows = await this.#read((state) =>
      (state.sent ?? []).filter((row) => (!series || row.series === series) && mayShowKey(state, row, origin)));
    return withdrawAll(base, rows, (ids) =>
      this.#update(async (state) => {
        for (const list of ["pending", "sent"]) state[list] = state[list].filter(({ id }) => !ids.has(id));
      }));
  }

  /** Forget the bytes of reports that have arrived (at `origin`) or were dropped, never their cost. */
  #forget(rows, origin) {
    const ids = new Set(rows.map(({ id }) => id));
    return this.#update(async (state) => {
      state.pending = state.pending.filter(({ id }) => !ids.has(id));
      noteArrival(state, ids, origin);
    });
  }

  #read(read) {
    return this.#store.transaction(async (state) => ({ result: await read(readState(state)) }));
  }

  #update(work) {
    return this.#store.transaction(async (kept) => {
      const state = readState(kept);
      return { result: await work(state), state };
    });
  }
}

/** A checked answer in the mechanism's own form; a refusal names its question. */
async function encodedAnswer(mechanism, id, value) {
  try {
    return await mechanism.encode(value);
  } catch (problem) {
    if (!(problem instanceof RumorError)) throw problem;
    throw Object.assign(new RumorError(problem.code, `question '${id}': ${problem.message}`), { question: id });
  }
}

/** Send reports of one question, trying again with growing pauses. */
async function deliver(base, group, attempts, pause, now) {
  const [{ contract, question, token, relay }] = group;
  const records = concat(...group.flatMap(({ id, report }) => [fromHex(id), fromHex(report)]));
  const work = async () =>
    relay
      ? (await import("./relay.js")).sendToRelay(group[0], now())
      : sendRecords(base, contract, question, records, group.length, token);
  return withRetries(work, attempts, pause);
}

/**
 * Reports to be sent together: of one contract and question, and not too many. Their order is
 * that of their random ids, and so is that of the groups: neither tells what was answered first.
 */
function groupRows(rows) {
  const found = new Map();
  for (const row of [...rows].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const name = `${row.contract} ${row.question}`;
    // A token admits one report, and an envelope travels alone.
    const together = row.token || row.relay ? null : found.get(name)?.at(-1);
    const most = Math.max(1, Math.min(MOST_RECORDS, Math.floor(MOST_BYTES / (16 + row.report.length / 2))));
    if (together && together.length < most) together.push(row);
    else found.set(name, [...(found.get(name) ?? []), [row]]);
  }
  return [...found.values()].flat();
}

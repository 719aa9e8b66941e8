/**
 * One respondent's device, which turns answers into reports and charges them to a ledger. It does not trust the collector, and
 * enforces all limits itself. The types of its methods, with their options, are in rumor.d.ts.
 */

import { concat, fromHex, toHex } from "./bytes.js";
import { mechanismOf } from "./contract.js";
import { withOldNames } from "./deprecation.js";
import { RumorError, formatValue } from "./errors.js";
import { checkHost, originOf, ownStore, sleep } from "./host.js";
import { CeilingError, debit, findRow, setPin, spendingOf, spentOn, totalSpent } from "./ledger.js";
import { lossOfContract } from "./loss.js";
import { keysOf } from "./permanent.js";
import { nextPin, scopeOf } from "./pins.js";
import { Keyed, systemDraws } from "./randomness.js";
import { noteArrival, noteCollector } from "./withdrawal-keys.js";
import { checkedState, newState, randomHex } from "./state.js";
import { withRetries, sendRecords } from "./transport.js";

const MOST_RECORDS = 1000;
const MOST_BYTES = 500_000;
const DAY = 86_400_000;
// Types of refusals that name reports by index: the others can be sent again without them.
const NAMES_REPORTS = ["id-conflict", "invalid-report"];

/** Load the module of a collection's admission tokens; null where admission is open. */
const admissionModule = ({ issuer, admission }) =>
  issuer ? import("./issuing.js") : admission === "open" ? null : import("./admission.js");
const readState = (kept) => (kept === null ? newState() : checkedState(kept));

/** Return a stored row as the `PendingReport` that callers get. */
const pendingReport = ({ id, contract, question, report }) =>
  ({ id: fromHex(id), contract, question, report: fromHex(report) });

export class Respondent {
  #store;
  #maxEpsilon;
  #consent;
  #today;

  /** Open the ledger in `store`, making it and its secret on first use. */
  static async open({ store, maxEpsilon, consent, today = () => new Date() } = {}) {
    checkHost();
    if (maxEpsilon !== undefined && !(maxEpsilon > 0)) {
      throw new RumorError("limit", `maxEpsilon must be a number above 0; got ${formatValue(maxEpsilon)}`);
    }
    const person = new Respondent();
    person.#store = store ?? ownStore();
    person.#maxEpsilon = maxEpsilon;
    person.#consent = consent;
    person.#today = today;
    await person.#update(async () => {});
    return person;
  }

  /** Make reports of `answers` (by question id), charge them and store them durably: all of them or none. */
  async prepare(contract, answers, { invitation, groups } = {}) {
    // A failed enrolment matters only if a token turns out to be missing.
    const missing = contract.issuer && invitation && (await this.enrol(contract, invitation).catch((problem) => problem));
    if (contract.ask) await this.#checkAssigned(contract, Object.keys(answers ?? {}));
    try {
      return await this.#prepare(contract, answers, invitation, groups);
    } catch (reached) {
      if (missing && reached.code === "invitation") throw missing;
      // Consent is requested outside the transaction: it may take long, and the assigned day may end meanwhile.
      if (!(reached instanceof CeilingError) || !(await this.#askConsent(contract, reached))) throw reached;
    }
    if (contract.ask) await this.#checkAssigned(contract, Object.keys(answers));
    return this.#prepare(contract, answers, invitation, groups);
  }

  #prepare(contract, answers, invitation, groups) {
    return this.#update(async (state) => {
      const stratum = await stratumIn(contract, groups);
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
      const reports = [];
      for (const [id, value] of given) {
        const question = contract.question(id);
        const made = await this.#report(state, contract, question, value);
        const notes = (made.mechanism.notes?.(value) ?? []).map((note) => ({ ...note, message: `question '${id}': ${note.message}` }));
        const kept = await debit(state, { ...made, scope, stratum }, ceilings, admits?.(id), seal);
        noteCollector(state, kept.id, contract.collector || pin.collector);
        reports.push(withOldNames({ ...pendingReport(kept), notes }, "PendingReport"));
      }
      setPin(state, pin);
      module?.keepTokens?.(state, scope);
      sampling?.keepAssignment(state, contract, scope);
      return reports;
    });
  }

  /** Have the issuer sign every token of an invitation, for all questions; `prepare` does so too. */
  async enrol(contract, invitation) {
    await (await admissionModule(contract))?.enrol?.(contract, invitation, (work) => this.#update(work));
  }

  /** Return the respondent's assignment, drawn at the first call and stored; `prepare` accepts no other questions or day. */
  async assignment(contract) {
    if (!contract.ask) {
      const questions = contract.questions.map(({ id }) => id);
      return withOldNames({ questions, total: questions.length, day: null, days: null, open: true }, "Assignment");
    }
    const { drawAssignment } = await import("./assignment.js");
    return withOldNames(await this.#update((state) => drawAssignment(state, contract, this.#dayNumber())), "Assignment");
  }

  async #checkAssigned(contract, ids) {
    const { checkAssigned } = await import("./assignment.js");
    // A transaction of its own stores the assignment even if the answer is refused.
    checkAssigned(await this.assignment(contract), ids, contract, this.#dayNumber());
  }

  #dayNumber() {
    return Math.floor(this.#today().getTime() / DAY);
  }

  /** Return the report of one answer with its ledger key. */
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
      // Without memoised noise every report costs the same, so no tag needs to identify the value.
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

  /** Ask for consent to the limit that a revision needs, and store it if given. */
  async #askConsent(contract, reached) {
    const { requestConsent } = await import("./agreement.js");
    const { pin } = await this.#read((state) => scopeOf(state, contract));
    const { questions } = await this.assignment(contract);
    return requestConsent(contract, reached, pin, questions, this.#consent, (work) => this.#update(work));
  }

  /** Return the reports that were not acknowledged yet, of one contract or of all. */
  pending(contract) {
    const ours = (row) => !contract || row.contract === contract.digest;
    return this.#read((state) => state.pending.filter(ours).map(pendingReport));
  }

  /** Return each question's loss so far. */
  spending() {
    return this.#read(spendingOf);
  }

  /** Return the epsilon of all reports of this device together, at most. */
  spent() {
    return this.#read(totalSpent);
  }

  /** Return the epsilon that the contract's series has cost so far (`spent`), and its limit (`ceiling`). */
  async budget(contract) {
    const [spent, { pin }] = await this.#read(async (state) => {
      const scope = scopeOf(state, contract);
      return [await spentOn(state, scope), scope];
    });
    const { ceiling } = pin ?? lossOfContract(contract, (await this.assignment(contract)).questions);
    return { spent, ceiling };
  }

  /** Take a new secret: memoised noise is drawn anew and costs anew. */
  reset() {
    return this.#update(async (state) => void (state.secret = randomHex(32)));
  }

  /**
   * Send every pending report of this series, or only those of `question`. Being offline is no error: unsent and refused
   * reports wait, and those whose relay turn is over are dropped; the outcome counts them.
   */
  async send(baseUrl, contract, { attempts = 3, pause = 0.25, invitation, delay = 2, question } = {}) {
    const base = String(baseUrl).replace(/\/+$/, "");
    const origin = originOf(base);
    let over, away;
    const outcome = { accepted: 0, duplicates: 0, pending: 0, refused: 0, dropped: 0, problem: null, refusal: null, arrived: [] };
    // Reports for one collector are never sent to another that uses its series name or claims to revise it.
    const waiting = () => this.#read((state) => {
      const { name, names } = scopeOf(state, contract);
      const isHere = (scope) => state.pins.find(({ series }) => series === scope)?.collector === origin;
      const ours = names.filter((scope) => scope === name || isHere(scope));
      return state.pending.filter((row) =>
        row.series === contract.series && ours.includes(row.scope ?? row.series) && (!question || row.question === question));
    });
    const now = () => this.#today().getTime();
    const groups = groupRows(await waiting());
    for (let group of groups) {
      // Reports whose turn is over are dropped even while offline.
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
          if (problem.code === "over") {
            // Drop the report, and say so once at the end.
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
          if (problem.code !== "refused") throw problem;
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

  /** Return the reports of `group` that can be sent again at once after a `refusal`; the others wait. */
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

  /** Return how many reports can still be withdrawn, pending ones among them, of one series or of all. */
  withdrawable(series) {
    return this.#read((state) => (state.sent ?? []).filter((row) => !series || row.series === series).length);
  }

  /** Withdraw the reports sent to the collector at `baseUrl`, and those pending for it, of one series or of all. */
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

  /** Delete the bytes of reports that arrived (at `origin`) or were dropped; their cost stays. */
  #forget(rows, origin) {
    const ids = new Set(rows.map(({ id }) => id));
    return this.#update(async (state) => {
      state.pending = state.pending.filter(({ id }) => !ids.has(id));
      noteArrival(state, ids, origin, this.#today().getTime());
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

withOldNames(Respondent.prototype, "Respondent");

/** Return the number of a respondent's groups; undefined where the contract has none. */
async function stratumIn({ groups, name }, given) {
  if (groups) return (await import("./groups.js")).stratumOf(groups, given);
  if (given && Object.keys(given).length) throw new RumorError("answer", `${formatValue(name)} has no groups, so none are sent`);
  return undefined;
}

/** Return an answer, checked, in the mechanism's own form; an error names the question. */
async function encodedAnswer(mechanism, id, value) {
  try {
    return await mechanism.encode(value);
  } catch (problem) {
    if (!(problem instanceof RumorError)) throw problem;
    throw Object.assign(new RumorError(problem.code, `question '${id}': ${problem.message}`), { question: id });
  }
}

/** Send reports of one question, with several attempts. */
async function deliver(base, group, attempts, pause, now) {
  const [{ contract, question, token, relay, stratum }] = group;
  const records = concat(...group.flatMap(({ id, report }) => [fromHex(id), fromHex(report)]));
  const work = async () =>
    relay
      ? (await import("./relay.js")).sendToRelay(group[0], now())
      : sendRecords(base, contract, question, records, group.length, token, stratum);
  return withRetries(work, attempts, pause);
}

/** Group reports into requests, ordered by random ids: the order does not reveal what was answered first. */
function groupRows(rows) {
  const found = new Map();
  for (const row of [...rows].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const name = `${row.contract} ${row.question} ${row.stratum ?? ""}`;
    // A report with a token or to a relay needs its own request.
    const together = row.token || row.relay ? null : found.get(name)?.slice(-1)[0];
    const most = Math.max(1, Math.min(MOST_RECORDS, Math.floor(MOST_BYTES / (16 + row.report.length / 2))));
    if (together && together.length < most) together.push(row);
    else found.set(name, [...(found.get(name) ?? []), [row]]);
  }
  return [...found.values()].flat();
}

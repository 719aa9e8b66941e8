/** Rumor in the browser: reports under local differential privacy, randomised on the respondent's own device. */

/** An error with a stated rule; the message is one sentence. */
export class RumorError extends Error {
  readonly name: "RumorError";
  /** For programs, and for pages in other languages. */
  readonly code:
    | "insecure" // the page is not a secure context
    | "contract" // the contract breaks a rule
    | "digest" // the contract has another digest than the expected one
    | "closed" // the collection takes no more answers
    | "answer" // the answer does not fit its question
    | "asked" // the question is not assigned to this respondent, or not today
    | "invitation" // the collection needs a valid invitation
    | "issuer" // the issuer of tokens cannot be reached, and no signed token is left
    | "turn" // this question already has a report in the current turn of the relay
    | "tab" // another tab or element has answered meanwhile: nothing was drawn
    | "over" // the turn of a report ended before the report could be sent
    | "revision" // the contract is not a later revision of the answered one
    | "consent" // the contract may cost more than was agreed, and the respondent did not agree
    | "limit" // a limit on reports or on epsilon would be exceeded
    | "state" // the stored ledger is damaged
    | "storage" // the browser's storage is missing or cannot be used
    | "unreachable" // the collector cannot be reached just now
    | "refused"; // the collector refuses the request
  /** Of code "invitation": set where the form is right and the checksum is wrong. */
  readonly reason?: "mistyped";
  constructor(code: string, message: string);
}

export type Kind = "choice" | "ordered" | "set" | "text" | "words" | "number" | "keyvalue" | "joint";

/** A choice by label or number, a text, a number, a list of options, or an object of keys and numbers. */
export type Answer = string | number | readonly (string | number)[] | Record<string, number>;

/** A question, with the members of the contract. */
export interface Question {
  readonly id: string;
  readonly kind: Kind;
  readonly text: string;
  /** The privacy loss of one report. */
  readonly epsilon: number;
  readonly mechanism: { readonly name: string; readonly [parameter: string]: unknown };
  readonly reports_per_person: number;
  readonly retention_days: number | null;
  /** Of a choice, a set or key-value data; null where values have no names. */
  readonly labels?: readonly string[] | null;
  /** Of a joint question: the parts of an answer. */
  readonly parts?: readonly { readonly id: string; readonly labels: readonly string[] }[] | null;
  /** Of key-value data: the digest of the previous round's contract. */
  readonly parent?: string | null;
  /** "period": the first answer of a period is reported throughout that period. Absent: memoised per value. */
  readonly memo?: "period";
  readonly period_days?: number;
}

/** A contract, every member of which was checked. */
export interface Contract {
  readonly digest: string;
  readonly name: string;
  readonly series: string;
  readonly contact: string;
  /** The origin that the contract was fetched from; empty where unknown. */
  readonly collector: string;
  /** Who may answer. */
  readonly admission: "open" | "invited" | "blind";
  readonly revision: number;
  /** The digest of the contract that this one revises. */
  readonly previous: string | null;
  /** The limit on what the whole series, all revisions together, may cost one respondent; null: none stated. */
  readonly series_epsilon: number | null;
  /** The sampling design: how many questions, and of how many days one, each respondent is assigned; null: all, on any day. */
  readonly ask: { readonly questions?: number; readonly days?: number; readonly starts?: string } | null;
  /** The relay that forwards sealed reports; null: reports go to the collector directly. */
  readonly relay: {
    readonly url: string;
    readonly key: string;
    /** The minimum batch size. */
    readonly crowd: number;
    readonly days: number;
    /** Hours of a turn: at most one report per question in each. Absent without turns. */
    readonly turn_hours?: number;
  } | null;
  /** Two questions whose reports are linked by respondent; null: none. */
  readonly linked: readonly [string, string] | null;
  /** The issuer of blind tokens, with its public key for each question; null: none. */
  readonly issuer: { readonly url: string; readonly keys: Readonly<Record<string, string>> } | null;
  /** The public columns that are sent in the clear with each report, each with its groups; null: none. */
  readonly groups: Readonly<Record<string, readonly string[]>> | null;
  readonly questions: readonly Question[];
  /** Return the question with this id, or throw where there is none. */
  question(id: string): Question;
}

/** Fetch and check the contract at `url`; `digest` pins it. */
export function fetchContract(url: string, options?: { digest?: string }): Promise<Contract>;

/** Check a contract given as JSON: a text, or the result of JSON.parse. */
export function parseContract(json: unknown, options?: { digest?: string; collector?: string }): Promise<Contract>;

/** A report that is ready to be sent; its id and bytes are the same at every attempt. */
export interface PendingReport {
  readonly id: Uint8Array;
  /** The digest of the contract that the report was made under. */
  readonly contract: string;
  readonly question: string;
  readonly report: Uint8Array;
  /** What to tell the respondent about how the answer was taken; only on reports that `prepare` returns. */
  readonly notes?: readonly Note[];
  /** @deprecated the old name of `notes` */
  readonly told?: readonly Note[];
}

/** @deprecated the old name of `PendingReport` */
export type Envelope = PendingReport;

/** How an answer was taken that does not quite fit its question; a device refuses none. */
export type Note = { readonly message: string } & (
  | { readonly code: "clipped"; readonly low: number; readonly high: number }
  /** `kept`: that many of the options were kept at random. Absent: the report is drawn from all of them. */
  | { readonly code: "over-cap"; readonly cap: number; readonly kept?: number }
  | { readonly code: "unnamed" }
);

/** The privacy loss of one question so far. */
export interface Spending {
  series: string;
  question: string;
  reports: number;
  /** How many different values were reported. */
  values: number;
  epsilon: number;
}

/** The result of sending reports. */
export interface Outcome {
  accepted: number;
  /** Reports that the collector had already. */
  duplicates: number;
  /** Reports that wait on this device. */
  pending: number;
  /** Pending reports that the collector refused just now, for example because it is closed. */
  refused: number;
  /** Reports that were dropped because their turn was over; their epsilon stays spent. */
  dropped: number;
  /** Why some reports wait or were dropped, in a sentence. */
  problem: string | null;
  /** The type of the collector's refusal; null where it was not reached. */
  refusal: string | null;
  /** The ids of the contract's questions of which a report was accepted now. */
  arrived: string[];
}

/** The result of withdrawing reports. */
export interface Withdrawal {
  /** Reports that the collector had, and has deleted from its store and counts. */
  withdrawn: number;
  /** Reports that the collector did not have. */
  absent: number;
  /** Reports whose withdrawal failed for now; their keys are kept. */
  left: number;
  /** Why some are left, in a sentence. */
  problem: string | null;
  /** The type of the collector's refusal. */
  refusal: string | null;
}

/** Where a ledger is stored: one value, one writer at a time. */
export interface Store {
  /**
   * Call `work` with the stored state (or null) while no other transaction runs. Store the `state` that it returns
   * durably before passing on its `result`; store nothing where it throws.
   */
  transaction<T>(work: (state: any) => Promise<{ state?: any; result: T }>): Promise<T>;
}

/** A store in the browser's IndexedDB, shared by all tabs of an origin. */
export class BrowserStore implements Store {
  constructor(name?: string);
  transaction<T>(work: (state: any) => Promise<{ state?: any; result: T }>): Promise<T>;
}

/** A store in memory: for tests, and for programs that keep the state themselves (`toString` gives JSON). */
export class MemoryStore implements Store {
  constructor(state?: unknown);
  toString(): string;
  transaction<T>(work: (state: any) => Promise<{ state?: any; result: T }>): Promise<T>;
}

/** A request for consent: may this series cost more than the respondent agreed to so far? */
export interface ConsentRequest {
  contract: Contract;
  /** The epsilon that the series has cost so far. */
  spent: number;
  /** The limit that the respondent agreed to. */
  before: number;
  /** The limit that would hold from now on. */
  after: number;
}

/** @deprecated the old name of `ConsentRequest` */
export type Change = ConsentRequest;

/** The questions and the day assigned to one respondent, drawn at random once and stored on the device. */
export interface Assignment {
  /** The ids of the questions, in the order of the contract. */
  questions: string[];
  /** The number of questions of the contract. */
  total: number;
  /** The one day in UTC on which to answer (YYYY-MM-DD), and the number of days it was drawn from; null: any day. */
  day: string | null;
  days: number | null;
  /** Whether today is that day. */
  open: boolean;
  /** @deprecated the old name of `total` */
  readonly of: number;
}

/** @deprecated the old name of `Assignment` */
export type Asked = Assignment;

/** One respondent's device: a secret, a ledger, and the reports made with them. */
export class Respondent {
  private constructor();
  /**
   * Open the ledger in `store` (a BrowserStore by default), making it and its secret on first use.
   *
   * `maxEpsilon` limits the epsilon of all collections together. Each series is limited to what its first contract
   * promised; `consent` asks the respondent when a revision needs more (without it, such a revision is refused).
   * `today` gives the time that periods and days are counted by.
   */
  static open(options?: {
    store?: Store;
    maxEpsilon?: number;
    consent?: (request: ConsentRequest) => boolean | Promise<boolean>;
    today?: () => Date;
  }): Promise<Respondent>;
  /** Return the respondent's assignment under `contract`, drawn at the first call and stored. Refuses a contract that `prepare` refuses as no revision. */
  assignment(contract: Contract): Promise<Assignment>;
  /** Make reports of `answers` (by question id), charge them and store them durably: all of them or none. */
  prepare(
    contract: Contract,
    answers: Record<string, Answer>,
    options?: { invitation?: string; groups?: Readonly<Record<string, unknown>> },
  ): Promise<PendingReport[]>;
  /** Have the issuer sign every token of an invitation, for all questions; `prepare` does so too. */
  enrol(contract: Contract, invitation: string): Promise<void>;
  /** Return the reports that were not acknowledged yet, of one contract or of all. */
  pending(contract?: Contract): Promise<PendingReport[]>;
  /** Return the privacy loss of each question so far. */
  spending(): Promise<Spending[]>;
  /** Return the epsilon of all reports of this device together, at most. */
  spent(): Promise<number>;
  /** Return the epsilon that the contract's series has cost so far (`spent`), and its limit on this device (`ceiling`). */
  budget(contract: Contract): Promise<{ spent: number; ceiling: number }>;
  /** Take a new secret: memoised noise is drawn anew and costs anew. */
  reset(): Promise<void>;
  /**
   * Send every pending report of this collection, or only those of `question`.
   *
   * `pause` is the first pause between attempts, in seconds. A report that was refused for its invitation is sent with
   * this `invitation`: the same bytes at no further cost. Reports to a relay are sent after a random delay of up to
   * `delay` seconds (by default 2).
   */
  send(
    baseUrl: string,
    contract: Contract,
    options?: { attempts?: number; pause?: number; invitation?: string; delay?: number; question?: string },
  ): Promise<Outcome>;
  /** Return how many reports can still be withdrawn, pending ones among them, of one series or of all. */
  withdrawable(series?: string): Promise<number>;
  /** Withdraw sent and pending reports, of one series or of all; spent epsilon stays spent. */
  withdraw(baseUrl: string, options?: { series?: string }): Promise<Withdrawal>;
  /** @deprecated the old name of `assignment` */
  readonly asked: (contract: Contract) => Promise<Assignment>;
  /** @deprecated the old name of `withdrawable` */
  readonly sent: (series?: string) => Promise<number>;
  /** @deprecated the old name of `budget` */
  readonly standing: (contract: Contract) => Promise<{ spent: number; ceiling: number }>;
}

/** Return the epsilon of this many reports of one unchanged answer together, in one round. */
export function epsilonAfter(question: Question, reports: number): number;

/** Return the privacy losses of a question for one respondent: exact, rounded up. */
export function lossOf(question: Question): {
  /** Of one report. */
  report: number;
  /** Of one answer: a report in this round and in each later one. */
  answer: number;
  /** Of all reports that may be asked for, if the answer stays the same. */
  unchanged: number;
  /** Of all reports that may be asked for, if every answer (or period) is another one. */
  most: number;
  /** The number of rounds (usually one), and which of them this is. */
  rounds: number;
  round: number;
};

/** Return the privacy loss of a contract for one respondent: of the `drawn` questions, or else of the costliest that may be drawn. */
export function lossOfContract(contract: Contract, drawn?: readonly string[]): {
  /** The largest possible loss under this contract. */
  most: number;
  /** The limit that a device sets on the series when it answers this contract first. */
  ceiling: number;
};

/** A part of a report's description. `labels` names each bit, where bits have names; `of` names the parts of a joint answer that it reports on. */
export type Part =
  | { name: string; kind: "bits"; value: (0 | 1)[]; labels?: readonly string[]; of?: readonly string[] }
  | { name: string; kind: "number"; value: number }
  | { name: string; kind: "text"; value: string };

/**
 * Probabilities of what a report says: of the `own` answer, and of each `other` one where that is a single number. `of`
 * says of what: that a `bit` is 1, that the `answer` is reported, that it is in the `set`, that the `number` stands for it
 * or lies `near` it, that it is in the `box`, that a bit of the `word` is 1, that the bit is 1 at the two `ends` of the
 * range, or that the report is the `truth`.
 */
export interface Coins {
  of: "bit" | "answer" | "set" | "number" | "near" | "box" | "word" | "ends" | "truth" | "chosen" | "held" | "pick" | "both";
  own: number;
  other: number | null;
}

/** Describe a report to the respondent: in a sentence, with probabilities, and by its parts. */
export function describeReport(
  question: Question,
  report: Uint8Array,
): { caption: string; coins: Coins | null; parts: Part[] };

/** A randomiser made from a contract's description; inside the package only. */
export interface Mechanism {
  kind: Kind;
  /** Bytes of a report. */
  width: number;
  /** The digest of everything public that determines the permanent noise of a value. */
  memoDigest: string;
  /** The privacy loss of one report, from the thresholds: exact, rounded up. */
  epsilon: number;
  /** Return the loss of n reports of one unchanged value. */
  epsilonAfter(n: number): number;
  /** Return the loss of reports of one permanent answer by several mechanisms with one memo digest: [mechanism, number of reports]. */
  epsilonComposed(made: [Mechanism, number][]): number;
  /** Return the loss of n reports of one unchanged value in this round and in each later one. */
  epsilonAllRounds(n: number): number;
  /** Whether reports of one value share permanent noise. */
  isMemoised: boolean;
  /** Whether a respondent may be asked once only. */
  isOneTime?: boolean;
  round: number;
  rounds: number;
  /** Return a checked value in the mechanism's own form, or a promise of it. */
  encode(value: unknown): any;
  /** Return notes on how a value is taken that does not quite fit. */
  notes?(value: any): Note[];
  /** Return a text that identifies the value, however it was written. */
  identity(code: any, value: any): string;
  /** Draw a report: the reference draw. */
  draw(code: any, draws: any): Uint8Array;
  /** Draw the permanent answer: `noise` keys its coins, `person` what does not depend on the value. */
  drawPermanent?(code: any, person: any, noise: any): Promise<Uint8Array>;
  /** Draw a report of a permanent answer: instantaneous noise on top of it. */
  reportPermanent?(settled: Uint8Array, draws: any): Uint8Array;
  /** Return a test of which values a report supports. */
  supports?(report: Uint8Array): (code: number) => boolean;
  /** The probabilities of a report under a supported and under another value, times a common factor. */
  odds?: [bigint, bigint];
  coins?: Coins | ((report: Uint8Array) => Coins);
  /** A sentence on what a report is. */
  caption: string;
  /** Return the parts of a report. */
  parts(report: Uint8Array): Part[];
}

/** Rumor in the browser: private reports, made on the person's own device. */

/** Something breaks a stated rule; the message is one sentence. */
export class RumorError extends Error {
  readonly name: "RumorError";
  /** For programs, and for pages in other languages. */
  readonly code:
    | "insecure" // the page is not a secure context
    | "contract" // the contract breaks a rule
    | "digest" // it is not the contract that was expected
    | "closed" // the collection takes no more answers
    | "answer" // the answer does not fit its question
    | "asked" // the question was not drawn for this person, or another day was
    | "invitation" // the collection is for invited people
    | "issuer" // whoever signs tokens cannot be reached, and none is left
    | "turn" // this question has had its report in the present turn
    | "over" // the turn of a report was over before it could be sent
    | "revision" // it is no further revision of the contract that was answered
    | "consent" // it may cost more than was agreed, and the person did not agree
    | "limit" // a limit on reports or on epsilon would be passed
    | "state" // what is kept of the person is damaged
    | "storage" // the browser's storage is missing or cannot be used
    | "unreachable" // the collector cannot be reached just now
    | "refused"; // the collector refuses the request
  constructor(code: string, message: string);
}

export type Kind = "choice" | "ordered" | "set" | "text" | "words" | "number" | "keyvalue" | "joint";

/** A choice by label or number, a text, a number, a list of options, or an object of keys and numbers. */
export type Answer = string | number | readonly (string | number)[] | Record<string, number>;

/** A question, with the members that the contract has. */
export interface Question {
  readonly id: string;
  readonly kind: Kind;
  readonly text: string;
  /** What one report costs. */
  readonly epsilon: number;
  readonly mechanism: { readonly name: string; readonly [parameter: string]: unknown };
  readonly reports_per_person: number;
  readonly retention_days: number | null;
  /** Of a choice, a set or key-value data; null where values have no names. */
  readonly labels?: readonly string[] | null;
  /** Of a joint question: what makes up an answer. */
  readonly parts?: readonly { readonly id: string; readonly labels: readonly string[] }[] | null;
  /** Of key-value data: the digest of the round before. */
  readonly parent?: string | null;
  /** The first answer of a period stands for all of it; where left out, each value for itself. */
  readonly memo?: "period";
  readonly period_days?: number;
}

/** A contract whose every member was checked. */
export interface Contract {
  readonly digest: string;
  readonly name: string;
  readonly series: string;
  readonly contact: string;
  /** The origin that it was fetched from; empty where that is not known. */
  readonly collector: string;
  /** Who may answer. */
  readonly admission: "open" | "invited" | "blind";
  readonly revision: number;
  /** The digest of the contract that this one revises. */
  readonly previous: string | null;
  /** What the whole series may cost one person at most, all revisions together, where said. */
  readonly series_epsilon: number | null;
  /** How few of the questions, and of how many days one, each person is asked; null: all, on any day. */
  readonly ask: { readonly questions?: number; readonly days?: number; readonly starts?: string } | null;
  /** Who passes sealed reports on, where they do not go to the collector directly. */
  readonly relay: {
    readonly url: string;
    readonly key: string;
    readonly crowd: number;
    readonly days: number;
    /** Hours of a turn: at most one report per question in each. Absent without turns. */
    readonly turn_hours?: number;
  } | null;
  /** Two questions whose reports of one person may be joined; null: none. */
  readonly linked: readonly [string, string] | null;
  /** Who signs tokens that nobody can trace, and its key for each question; null: nobody. */
  readonly issuer: { readonly url: string; readonly keys: Readonly<Record<string, string>> } | null;
  readonly questions: readonly Question[];
  /** The question with this id; throws where there is none. */
  question(id: string): Question;
}

/** The contract that a collector serves at this address, checked; `digest` pins it. */
export function fetchContract(url: string, options?: { digest?: string }): Promise<Contract>;

/** A contract from its JSON: a text, or what JSON.parse made of it. */
export function parseContract(json: unknown, options?: { digest?: string; collector?: string }): Promise<Contract>;

/** A report ready to be sent: the same id and bytes however often it is tried. */
export interface Envelope {
  readonly id: Uint8Array;
  /** The digest of the contract that it was made under. */
  readonly contract: string;
  readonly question: string;
  readonly report: Uint8Array;
  /** What the person should be told of how the answer was taken; only where it was made just now. */
  readonly told?: readonly Note[];
}

/** How an answer was taken that does not quite fit its question; a device refuses none. */
export type Note = { readonly message: string } & (
  | { readonly code: "clipped"; readonly low: number; readonly high: number }
  | { readonly code: "over-cap"; readonly cap: number }
  | { readonly code: "unnamed" }
);

/** What one question has cost so far. */
export interface Spending {
  series: string;
  question: string;
  reports: number;
  /** How many different values were reported. */
  values: number;
  epsilon: number;
}

/** What became of reports. */
export interface Outcome {
  accepted: number;
  /** Reports that the collector had already. */
  duplicates: number;
  /** Reports that wait on this device. */
  pending: number;
  /** Those of them that the collector refused just now: it is closed, say. */
  refused: number;
  /** Reports that were dropped now because their turn was over; what they cost stays spent. */
  dropped: number;
  /** Why some wait or were dropped, in a sentence. */
  problem: string | null;
  /** The type of the refusal, where the collector refused; null where it was not reached. */
  refusal: string | null;
  /** The ids of the contract's questions of which a report was taken now. */
  arrived: string[];
}

/** What became of reports that were taken back. */
export interface Withdrawal {
  /** Reports that were at the collector, and have left its store and counts. */
  withdrawn: number;
  /** Reports that were not there. */
  absent: number;
  /** Reports that could not be asked for now: their keys are kept. */
  left: number;
  /** Why some are left, in a sentence. */
  problem: string | null;
  /** The type of the refusal, where the collector refused. */
  refusal: string | null;
}

/** Where a ledger is kept: one value, one writer at a time. */
export interface Store {
  /**
   * Call `work` with what is kept (or null), alone; keep the `state` that it returns, durably,
   * before passing on its `result`; keep nothing where it throws.
   */
  transaction<T>(work: (state: any) => Promise<{ state?: any; result: T }>): Promise<T>;
}

/** In the browser's IndexedDB, shared by all tabs of an origin. */
export class BrowserStore implements Store {
  constructor(name?: string);
  transaction<T>(work: (state: any) => Promise<{ state?: any; result: T }>): Promise<T>;
}

/** In memory: for tests, and for programs that keep it otherwise (`toString` gives JSON). */
export class MemoryStore implements Store {
  constructor(state?: unknown);
  toString(): string;
  transaction<T>(work: (state: any) => Promise<{ state?: any; result: T }>): Promise<T>;
}

/** What a person is asked: may this series cost more than they agreed to so far? */
export interface Change {
  contract: Contract;
  /** What it has cost them so far. */
  spent: number;
  /** What they agreed that it may cost at most. */
  before: number;
  /** What it may cost at most from now on, if they agree. */
  after: number;
}

/** What one person is asked, drawn at random and kept on the device. */
export interface Asked {
  /** The ids of the questions, in the order of the contract. */
  questions: string[];
  /** How many the contract has. */
  of: number;
  /** The one day in UTC on which they answer (YYYY-MM-DD), and out of how many; null where any will do. */
  day: string | null;
  days: number | null;
  /** Whether today is that day. */
  open: boolean;
}

/** One person's device: a secret, a ledger, and the reports made with them. */
export class Respondent {
  private constructor();
  /**
   * The store is a BrowserStore by default; `maxEpsilon` bounds what everything costs together. Each series
   * is bounded anyway, by what its first contract promised; `consent` asks the person when a revision
   * wants more (without it, that is refused). `today` gives the time that periods and days are counted by.
   */
  static open(options?: {
    store?: Store;
    maxEpsilon?: number;
    consent?: (change: Change) => boolean | Promise<boolean>;
    today?: () => Date;
  }): Promise<Respondent>;
  /** Which questions this person is asked, and on which day: drawn at first, kept ever after. What `prepare` would refuse as no revision is refused. */
  asked(contract: Contract): Promise<Asked>;
  /** Reports of these answers, debited and durable: all of them or none. */
  prepare(
    contract: Contract,
    answers: Record<string, Answer>,
    options?: { invitation?: string },
  ): Promise<Envelope[]>;
  /** Fetch every token that an invitation gives, of all questions, where an issuer signs them; `prepare` does it too. */
  enrol(contract: Contract, invitation: string): Promise<void>;
  /** What was made and has not been acknowledged, of one contract or of all. */
  pending(contract?: Contract): Promise<Envelope[]>;
  /** What each question has cost so far. */
  spending(): Promise<Spending[]>;
  /** What everything has cost together, at worst. */
  spent(): Promise<number>;
  /** What the contract's series has cost so far, and what it may cost at most on this device. */
  standing(contract: Contract): Promise<{ spent: number; ceiling: number }>;
  /** Take a new secret: permanent answers are drawn anew and cost anew. */
  reset(): Promise<void>;
  /**
   * Send everything that waits for this collection; `pause` is the first, in seconds. A report that
   * was refused for its invitation goes out with this one, the same bytes at no further cost. What
   * goes through a relay goes after a random `delay` of up to so many seconds (2). Only reports of `question` where it is said.
   */
  send(
    baseUrl: string,
    contract: Contract,
    options?: { attempts?: number; pause?: number; invitation?: string; delay?: number; question?: string },
  ): Promise<Outcome>;
  /** How many reports can still be taken back, waiting ones among them. */
  sent(series?: string): Promise<number>;
  /** Take back what was sent, and what waits, of one series or of all; nothing is refunded. */
  withdraw(baseUrl: string, options?: { series?: string }): Promise<Withdrawal>;
}

/** What so many reports of one unchanged answer cost together, in one round. */
export function epsilonAfter(question: Question, reports: number): number;

/** What a question costs one person: exact, rounded up. */
export function lossOf(question: Question): {
  /** One report. */
  report: number;
  /** One answer: a report in this round and in each that follows. */
  answer: number;
  /** As many answers as may be given, all of them the same. */
  unchanged: number;
  /** As many answers as may be given, another one (or in another period) every time. */
  most: number;
  /** In how many rounds it is asked (usually one), and in which of them it is. */
  rounds: number;
  round: number;
};

/** What everything that a contract asks costs one person: the questions that were `drawn`, or the sumOfLargest that may be. */
export function lossOfContract(contract: Contract, drawn?: readonly string[]): {
  /** The most, as it stands. */
  most: number;
  /** What a device holds the whole series to when it meets this contract first. */
  ceiling: number;
};

/** A part of what a report says. `labels` names each bit, where bits have names; `of` the parts of an answer that it is about. */
export type Part =
  | { name: string; kind: "bits"; value: (0 | 1)[]; labels?: readonly string[]; of?: readonly string[] }
  | { name: string; kind: "number"; value: number }
  | { name: string; kind: "text"; value: string };

/**
 * How likely chance makes what a report says of one's `own` answer, and of each `other` where that is one
 * number. `of` says what: a `bit` is 1, the `answer` is told, it is in the `set`, the `number` stands for it or
 * lies `near` it, it is in the `box`, a bit that the `word` sets is 1, the bit is 1 at the two `ends`, or what is
 * told is the `truth`.
 */
export interface Coins {
  of: "bit" | "answer" | "set" | "number" | "near" | "box" | "word" | "ends" | "truth" | "chosen" | "held" | "pick" | "both";
  own: number;
  other: number | null;
}

/** What a report says, for people to look at. */
export function describeReport(
  question: Question,
  report: Uint8Array,
): { caption: string; coins: Coins | null; parts: Part[] };

/** A randomiser made from a contract's description; inside the package only. */
export interface Mechanism {
  kind: Kind;
  /** Bytes of a report. */
  width: number;
  /** The digest of everything public that turns a value into its permanent answer. */
  cell: string;
  /** What one report costs, from the thresholds: exact, rounded up. */
  epsilon: number;
  /** What n reports of one unchanged value cost. */
  epsilonAfter(n: number): number;
  /** The same for reports made by several mechanisms of one cell, so many of each. */
  epsilonComposed(made: [Mechanism, number][]): number;
  /** What n reports of one unchanged value cost, and as many in each further round. */
  epsilonAllRounds(n: number): number;
  /** Whether reports of one value share a permanent answer that protects them together. */
  isMemoised: boolean;
  /** Whether it may be asked once only. */
  once?: boolean;
  round: number;
  rounds: number;
  /** A checked value in the mechanism's own form, or a promise of it. */
  encode(value: unknown): any;
  /** What to tell of how a value is taken, where it does not quite fit. */
  notes?(value: any): Note[];
  /** What tells a value from others, however it was written. */
  identity(code: any, value: any): string;
  /** The reference draw. */
  draw(code: any, draws: any): Uint8Array;
  /** The permanent answer: `noise` decides its coins, `person` what ignores the value. */
  drawPermanent?(code: any, person: any, noise: any): Promise<Uint8Array>;
  /** A report of a permanent answer: fresh noise on top of it. */
  reportPermanent?(settled: Uint8Array, draws: any): Uint8Array;
  /** Which values a report supports, and how likely it is of those that it does and of those that it does not, times a common factor. */
  supports?(report: Uint8Array): (code: number) => boolean;
  odds?: [bigint, bigint];
  coins?: Coins | ((report: Uint8Array) => Coins);
  /** What a report is, in a sentence. */
  caption: string;
  /** What a report says. */
  parts(report: Uint8Array): Part[];
}

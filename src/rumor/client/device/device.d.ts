/**
 * Rumor in apps: reports under local differential privacy, on a host of five functions and without anything of a browser.
 *
 * Calls return at once where the host's functions do, and promises where they return promises; `await` takes both.
 */

import type { Answer, Assignment, ConsentRequest, Contract, Outcome, PendingReport, Spending, Withdrawal } from "../rumor.js";

export { RumorError, describeReport, epsilonAfter, lossOf, lossOfContract } from "../rumor.js";

/** What the client for apps needs of its surroundings, and all that it takes. */
export interface Host {
  /** Return `size` bytes of the system's cryptographic randomness, at once. */
  random(size: number): ArrayLike<number>;
  /** Return the text that was saved last, null where none was ever saved; throw where it cannot be read. */
  load(): string | null | Promise<string | null>;
  /** Replace the saved text durably, wholly or not at all; throw where it was not replaced. */
  save(text: string): void | Promise<void>;
  /** Return the time in milliseconds since 1970 (UTC). */
  now(): number;
  /**
   * Send a request and return the answer; throw where there is none. A request with `bytes` is a POST, others are a GET.
   * Without cookies, and without following redirects.
   */
  send(url: string, bytes: Uint8Array | null, headers: Record<string, string>): HostAnswer | Promise<HostAnswer>;
}

export interface HostAnswer {
  status: number;
  /** The answer's text. */
  body: string;
  /** The header Retry-After, where there is one. */
  retryAfter?: string | number | null;
}

/** What a call returns: its result, or a promise of it where the host returned one. */
export type Result<T> = T | Promise<T>;

/** Check a contract given as JSON: a text, or the result of JSON.parse. */
export function parseContract(json: unknown, options?: { digest?: string; collector?: string }): Contract;

/**
 * Open the device whose ledger the host keeps, making it and its secret on first use.
 *
 * `maxEpsilon` limits the epsilon of all collections together; `consent` asks the respondent when a revision needs more
 * (without it, such a revision is refused).
 */
export const openDevice: (
  host: Host,
  options?: { maxEpsilon?: number; consent?: (request: ConsentRequest) => boolean | Promise<boolean> },
) => Result<Device>;

/** One respondent's device; methods without a sentence are those of `Respondent` in rumor.d.ts. */
export interface Device {
  /** Fetch and check the contract at `url`; `digest` pins it. */
  fetchContract(url: string, options?: { digest?: string }): Result<Contract>;
  assignment(contract: Contract): Result<Assignment>;
  prepare(
    contract: Contract,
    answers: Record<string, Answer>,
    options?: { invitation?: string; groups?: Readonly<Record<string, unknown>> },
  ): Result<PendingReport[]>;
  enrol(contract: Contract, invitation: string): Result<void>;
  pending(contract?: Contract): Result<PendingReport[]>;
  spending(): Result<Spending[]>;
  spent(): Result<number>;
  budget(contract: Contract): Result<{ spent: number; ceiling: number }>;
  reset(): Result<void>;
  /** Send every pending report of this collection once; the host calls again, after a pause of its own, while some wait. */
  send(baseUrl: string, contract: Contract, options?: { invitation?: string; question?: string }): Result<Outcome>;
  withdrawable(series?: string): Result<number>;
  withdraw(baseUrl: string, options?: { series?: string }): Result<Withdrawal>;
}

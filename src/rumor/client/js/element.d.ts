/** `<rumor-question>`: a question of a collection on any page. Importing this module defines the element. */

import type { RumorError } from "./rumor.js";

/** Attributes: `collector` (an address), `question` (its id), `digest` (pins the contract), `lang`. */
export class RumorQuestion extends HTMLElement {
  /** The respondent's invitation, where the collection needs one. */
  invitation: string;
  /** The respondent's groups by name, which are sent in the clear if the collection has them. */
  groups: Record<string, string>;
}

/** A report was drawn and charged to the ledger; it has not been sent. */
export type RumorDrawn = CustomEvent<{ question: string }>;
/** The collector has the report; `accepted` is 0 if it had it before. */
export type RumorSent = CustomEvent<{ question: string; accepted: number }>;
/** Reports were taken back: those of every element of the collection, `count` together. */
export type RumorWithdrawn = CustomEvent<{ count: number }>;
/** An error occurred, which the element shows to the respondent. */
export type RumorProblem = CustomEvent<{ code: RumorError["code"] | "other" }>;

declare global {
  interface HTMLElementTagNameMap {
    "rumor-question": RumorQuestion;
  }
  interface HTMLElementEventMap {
    "rumor-drawn": RumorDrawn;
    "rumor-sent": RumorSent;
    "rumor-withdrawn": RumorWithdrawn;
    "rumor-problem": RumorProblem;
  }
}

/** `<rumor-question>`: a question of a collection on any page. Importing the module defines it. */

import type { RumorError } from "./rumor.js";

/** Attributes: `collector` (an address), `question` (its id), `digest` (pins the contract), `lang`. */
export class RumorQuestion extends HTMLElement {
  /** The person's invitation, where the collection is for invited people. */
  invitation: string;
}

/** A report was drawn and debited; it has not been sent. */
export type RumorDrawn = CustomEvent<{ question: string }>;
/** The collector has the report: now, or (`accepted` is 0) already before. */
export type RumorSent = CustomEvent<{ question: string; accepted: number }>;
/** Something went wrong; the person was told. */
export type RumorProblem = CustomEvent<{ code: RumorError["code"] | "other" }>;

declare global {
  interface HTMLElementTagNameMap {
    "rumor-question": RumorQuestion;
  }
  interface HTMLElementEventMap {
    "rumor-drawn": RumorDrawn;
    "rumor-sent": RumorSent;
    "rumor-problem": RumorProblem;
  }
}

/**
 * Kinds of questions by name: what a contract carries of each beside its mechanism (`carries`), and
 * how an answer is read that was typed (`typed`). A new kind is a file and a line here.
 */

import * as choice from "./kinds/choice.js";
import * as keyvalue from "./kinds/keyvalue.js";
import * as number from "./kinds/number.js";
import * as text from "./kinds/text.js";

/** @type {Record<import("./rumor.js").Kind, { carries: string[], typed(question: any, text: string): unknown }>} */
export const KINDS = { choice, text, number, keyvalue };

/** One of a fixed list of answers: labels, or numbers where there are none. */

import * as number from "./number.js";

/** A label or its number. */
export const typed = (question, text) => (question.labels ? named(question.labels, text) : number.typed(question, text));

/** What is called by this name, or has this number where that is no name. */
export const named = (labels, name) => (/^\d+$/.test(name) && !labels?.includes(name) && labels?.[name]) || name;

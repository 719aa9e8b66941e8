/** A word of an open vocabulary without a list of candidates: a text as it is. */

import { mechanismOf } from "../contract.js";
import * as text from "./text.js";

export { parseAnswer } from "./text.js";

/** A field for a word, which says at once if the result cannot name it. */
export function control(card, title, tools) {
  const { words } = tools;
  const mechanism = mechanismOf(card.question);
  const { code } = card.question.mechanism;
  const length = Array.isArray(code) ? null : code.length;
  return text.control(card, title, tools, (word) => {
    if (length && word && [...word].length !== length) return words.otherLength(length);
    return word && mechanism.notes(word).length ? words.notes.unnamed() : words.oneWord(length);
  });
}

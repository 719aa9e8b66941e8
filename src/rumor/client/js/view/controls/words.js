/** Words that nobody listed: a field for a word. */

import * as text from "./text.js";

export function control(card, title, words, set) {
  const { code } = card.question.mechanism;
  return text.control(card, title, words, set, Array.isArray(code) ? null : code.length);
}

/** A word of an open vocabulary without a list of candidates: a text as it is. */

import * as text from "./text.js";

export { parseAnswer } from "./text.js";

/** A field for a word. */
export function control(card, title, tools) {
  const { code } = card.question.mechanism;
  return text.control(card, title, tools, Array.isArray(code) ? null : code.length);
}

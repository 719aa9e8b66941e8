/** Any of a fixed list of options. */

import * as choice from "./choice.js";

/** OPTION|OPTION..., each a label or its number; "none", or a bar alone, for nothing. */
export function typed(question, text) {
  const parts = text.split("|").map((part) => part.trim()).filter(Boolean);
  const none = parts.length === 1 && parts[0] === "none" && !question.labels?.includes("none");
  return none ? [] : parts.map((part) => choice.typed(question, part));
}

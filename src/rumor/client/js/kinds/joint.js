/** Several answers in one table: a label for each part. */

import { refuseAnswer } from "../checks.js";
import * as choice from "./choice.js";

/** PART=LABEL, PART=LABEL..., labels by number or name; a comma ends a label only before a further part. */
export function typed({ parts, mechanism }, text) {
  const known = parts ?? mechanism.sizes.map((_, part) => ({ id: String(part), labels: null }));
  const ids = known.map(({ id }) => id).join("|");
  const found = new Map();
  for (const piece of text.split(new RegExp(`,\\s*(?=(?:${ids})\\s*=)`))) {
    const at = piece.indexOf("=");
    if (at < 0) refuseAnswer("parts must be PART=LABEL, PART=LABEL...", "one without =");
    const id = piece.slice(0, at).trim();
    if (found.has(id)) refuseAnswer("each part must be answered once", "one twice");
    found.set(id, choice.typed({ labels: null, ...known.find((part) => part.id === id) }, piece.slice(at + 1).trim()));
  }
  return Object.fromEntries(found);
}

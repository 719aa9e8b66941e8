/** Several answers in one table: a label for each part. */

import { typed as one } from "./choice.js";

/** PART=LABEL, PART=LABEL..., labels by number or name; a comma ends a label only before a further part. */
export function typed({ parts }, text) {
  const ids = parts?.map(({ id }) => id).join("|") ?? "\\d+";
  const pairs = text.split(new RegExp(`,\\s*(?=(?:${ids})\\s*=)`)).map((piece) => {
    const at = piece.indexOf("=");
    const id = piece.slice(0, Math.max(at, 0)).trim();
    return [id, one({ labels: parts && (parts.find((part) => part.id === id)?.labels ?? []) }, piece.slice(at + 1).trim())];
  });
  return Object.fromEntries(pairs);
}

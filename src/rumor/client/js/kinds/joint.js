/** Several answers in one table: a label for each part. */

import * as choice from "./choice.js";

/** PART=LABEL, PART=LABEL..., labels by number or name; a comma ends a label only before a further part. */
export function typed({ parts, mechanism }, text) {
  const known = parts ?? mechanism.sizes.map((_, part) => ({ id: String(part), labels: null }));
  const ids = known.map(({ id }) => id).join("|");
  const pairs = text.split(new RegExp(`,\\s*(?=(?:${ids})\\s*=)`)).map((piece) => {
    const at = piece.indexOf("=");
    const id = piece.slice(0, Math.max(at, 0)).trim();
    return [id, choice.typed({ labels: null, ...known.find((part) => part.id === id) }, piece.slice(at + 1).trim())];
  });
  return Object.fromEntries(pairs);
}

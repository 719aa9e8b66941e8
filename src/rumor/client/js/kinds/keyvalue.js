/** Some of a fixed list of keys, each with a number. */

import { named } from "./choice.js";

/** KEY:NUMBER,KEY:NUMBER... with keys by number or label; "none" for somebody who holds nothing. */
export function typed({ labels }, text) {
  const parts = text.trim() === "none" ? [] : text.split(",");
  const pairs = parts.filter((part) => part.trim()).map((part) => {
    const at = part.lastIndexOf(":");
    return [named(labels, part.slice(0, Math.max(at, 0)).trim()), Number(part.slice(at + 1))];
  });
  return Object.fromEntries(pairs);
}

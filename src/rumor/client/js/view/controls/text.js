/** A word, as it is typed. */

import { h } from "../dom.js";

const QUIET = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };

export function control(card, title, words, set) {
  const hint = `${title}-hint`;
  return [
    h("input", {
      type: "text", ...QUIET, "aria-labelledby": title, "aria-describedby": hint, maxlength: 200, value: card.value,
      oninput: (event) => set(event.target.value.trim() || undefined),
    }),
    h("p", { id: hint, class: "soft" }, words.oneWord),
  ];
}

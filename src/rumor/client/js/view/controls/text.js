/** A word, as it is typed. */

import { h } from "../dom.js";

const QUIET = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };

/** `characters` is how many all words have, where they have one length. */
export function control(card, title, words, set, characters = null) {
  const hint = `${title}-hint`;
  const told = (word) => (characters && word && [...word].length !== characters ? words.otherLength(characters) : words.oneWord(characters));
  const note = h("p", { id: hint, class: "soft" }, told(card.value));
  return [
    h("input", {
      type: "text", ...QUIET, "aria-labelledby": title, "aria-describedby": hint, value: card.value,
      oninput: ({ target }) => {
        const word = target.value.trim();
        set(word || undefined);
        note.textContent = told(word);
      },
    }),
    note,
  ];
}

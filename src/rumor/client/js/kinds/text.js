/** A word of an open vocabulary. */

/** The text, as it is. */
export const parseAnswer = (question, text) => text;

const QUIET = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };

/** A field for a word; `characters` is how many all words have, where they have one length. */
export function control(card, title, { h, words, set }, characters = null) {
  const hint = `${title}-hint`;
  const hintFor = (word) => (characters && word && [...word].length !== characters ? words.otherLength(characters) : words.oneWord(characters));
  const note = h("p", { id: hint, class: "soft" }, hintFor(card.value));
  return [
    h("input", {
      type: "text", ...QUIET, "aria-labelledby": title, "aria-describedby": hint, value: card.value,
      oninput: ({ target }) => {
        const word = target.value.trim();
        set(word || undefined);
        note.textContent = hintFor(word);
      },
    }),
    note,
  ];
}

/** A word of an open vocabulary. */

/** The text, as it is. */
export const parseAnswer = (question, text) => text;

const QUIET = { autocomplete: "off", autocapitalize: "off", spellcheck: "false" };

/** A field for a word; `hintFor` returns the sentence below it for what is typed. */
export function control(card, title, { h, words, set }, hintFor = () => words.oneWord()) {
  const hint = `${title}-hint`;
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

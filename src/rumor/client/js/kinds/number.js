/** A number within a range. */

/** A number; any other text is left for the mechanism to refuse. */
export const typed = (question, text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

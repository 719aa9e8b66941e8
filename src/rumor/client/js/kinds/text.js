/** A word of an open vocabulary. */

export const typed = (question, text) => text;

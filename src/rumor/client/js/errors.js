/** Errors, whose messages name the problem, the rule and the value given. */

/** An error with a stated rule. The message is one sentence; `code` is for programs (rumor.d.ts). */
export class RumorError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "RumorError";
    this.code = code;
  }
}

/** Return the type of a value, for messages about answers, which must not show their content. */
export function typeOf(value) {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (Number.isNaN(value)) return "NaN";
  return { string: "a text", object: "an object" }[typeof value] ?? `a ${typeof value}`;
}

/** Return a value as a message shows it, cut to a readable length. */
export function formatValue(value) {
  let text;
  if (typeof value === "string") text = `'${value}'`;
  else if (value && typeof value === "object") text = JSON.stringify(value);
  else text = String(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

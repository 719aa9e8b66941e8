/** Words that nobody listed: a text as it is. */

export { typed } from "./text.js";

/** Words that nobody listed: a field for a word. */

export { control } from "./text.js";

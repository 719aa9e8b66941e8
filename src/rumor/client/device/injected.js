/** What the build puts in the place of the language's own. */

export { Settling as Promise } from "./promise.js";

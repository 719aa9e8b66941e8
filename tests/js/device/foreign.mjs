/** The globals that are Node's or a browser's and not the language's; run by itself, prints them as JSON. */

import { pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";

const BROWSER = ["document", "window", "self", "location", "navigator", "indexedDB", "localStorage", "sessionStorage", "XMLHttpRequest", "WebSocket"];
// V8 gives its console to every world.
const language = runInNewContext("Object.getOwnPropertyNames(globalThis)").filter((name) => name !== "console");

export const FOREIGN = [...Object.getOwnPropertyNames(globalThis), ...BROWSER].filter((name) => !language.includes(name));

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(JSON.stringify(FOREIGN));

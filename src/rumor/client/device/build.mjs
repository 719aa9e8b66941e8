/**
 * Build the client for apps, from a folder with the packages of package.json, into one file:
 *
 *     node build.mjs PACKAGES ENTRY OUT.mjs     an ES module
 *     node build.mjs PACKAGES ENTRY OUT.js      a classic script, which defines `rumor`
 */

import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [packages, entry, out] = process.argv.slice(2).map((path) => resolve(path));
const { build } = createRequire(`${packages}/package.json`)("esbuild");

// Modules of the browser with others of the same exports in their place.
const HOSTED = ["host.js", "sealing.js", "deprecation.js"];
const hosted = {
  name: "hosted",
  setup: ({ onLoad, onResolve }) => {
    onLoad({ filter: /./, namespace: "empty" }, () => ({ contents: "" }));
    onResolve({ filter: /^\.\.?\/.*\.js$/ }, ({ path, resolveDir }) => {
      // Apps have controls of their own.
      if (/^\.\/kinds\//.test(path)) return { path, namespace: "empty" };
      const name = HOSTED.find((each) => resolve(resolveDir, path) === resolve(here, "../js", each));
      return name && { path: `${here}/${name}` };
    });
  },
};

// The oldest engine is QuickJS of 2021: ES2020, and classes with private members.
const CLASSES = ["class-field", "class-private-accessor", "class-private-field", "class-private-method"];
const language = { target: "es2020", supported: Object.fromEntries([...CLASSES.map((each) => [each, true]), ["async-await", false]]) };
const common = { absWorkingDir: here, bundle: true, write: false, format: "esm", logLevel: "warning", legalComments: "none", ...language };

// First every `async` becomes a generator that promises drive; then `Promise`, of these too, becomes ours.
const joined = await build({
  ...common, entryPoints: [entry], nodePaths: [`${packages}/node_modules`], plugins: [hosted], external: [`${here}/promise.js`],
  define: { "Object.hasOwn": "hasOwn", "globalThis.crypto": "undefined" }, inject: [`${here}/hasown.js`],
});
await build({
  ...common, write: true, outfile: out, minify: true, inject: [`${here}/injected.js`],
  banner: { js: "/*! Rumor (Apache-2.0), with noble-ciphers, noble-curves, noble-hashes (MIT, Paul Miller): rumor-device.licenses.txt */" },
  stdin: { contents: joined.outputFiles[0].text, resolveDir: here },
  ...(out.endsWith(".mjs") ? {} : { format: "iife", globalName: "rumor" }),
});

/** Bundle answer.js with one of the bundlers, into the folder `built`: node build.mjs NAME. */

const BUNDLERS = {
  async esbuild() {
    const { build } = await import("esbuild");
    await build({ entryPoints: ["answer.js"], bundle: true, splitting: true, format: "esm", outdir: "built", logLevel: "error" });
  },
  async rollup() {
    const { rollup } = await import("rollup");
    const resolve = { resolveId: (name) => (name === "@rumor-ldp/client" ? `${process.cwd()}/node_modules/@rumor-ldp/client/rumor.js` : null) };
    const bundle = await rollup({ input: "answer.js", plugins: [resolve], onwarn: fail });
    await bundle.write({ dir: "built", format: "es" });
  },
  async vite() {
    const { build } = await import("vite");
    const lib = { entry: "answer.js", formats: ["es"], fileName: "answer" };
    await build({ logLevel: "error", configFile: false, build: { lib, outDir: "built", minify: false } });
  },
  async webpack() {
    const { default: webpack } = await import("webpack");
    const output = { path: `${process.cwd()}/built`, filename: "answer.js", module: true, library: { type: "module" }, chunkFormat: "module", chunkLoading: "import" };
    const config = { entry: "./answer.js", mode: "production", target: "es2022", experiments: { outputModule: true }, output };
    await new Promise((done, broken) => webpack(config, (problem, stats) => (problem ?? (stats.hasErrors() || stats.hasWarnings())) ? broken(problem ?? new Error(stats.toString())) : done()));
  },
};

function fail(warning) {
  throw new Error(warning.message);
}

await BUNDLERS[process.argv[2]]();

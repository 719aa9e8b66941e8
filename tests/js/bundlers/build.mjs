/** Bundle answer.js and page.js with one of the bundlers, into a folder of its name: node build.mjs NAME. */

const [, , name] = process.argv;
const [out, files] = [`${process.cwd()}/built/${name}`, { answer: "./answer.js", page: "./page.js" }];

const BUNDLERS = {
  async esbuild() {
    const { build } = await import("esbuild");
    await build({ entryPoints: files, bundle: true, splitting: true, format: "esm", outdir: out, logLevel: "error" });
  },
  async rollup() {
    const { rollup } = await import("rollup");
    const own = /^@rumor-ldp\/client(?:\/(.+))?$/;
    const resolve = { resolveId: (id) => (own.test(id) ? `${process.cwd()}/node_modules/@rumor-ldp/client/${own.exec(id)[1] ?? "rumor.js"}` : null) };
    const bundle = await rollup({ input: files, plugins: [resolve], onwarn: fail });
    await bundle.write({ dir: out, format: "es" });
  },
  async vite() {
    const { build } = await import("vite");
    const lib = { entry: files, formats: ["es"] };
    await build({ logLevel: "error", configFile: false, build: { lib, outDir: out, minify: false } });
  },
  async webpack() {
    const { default: webpack } = await import("webpack");
    const output = { path: out, filename: "[name].js", module: true, library: { type: "module" }, chunkFormat: "module", chunkLoading: "import" };
    const config = { entry: files, mode: "production", target: "es2022", experiments: { outputModule: true }, output };
    await new Promise((done, broken) => webpack(config, (problem, stats) => (problem ?? (stats.hasErrors() || stats.hasWarnings())) ? broken(problem ?? new Error(stats.toString())) : done()));
  },
};

function fail(warning) {
  throw new Error(warning.message);
}

await BUNDLERS[name]();

import { build, type BuildOptions } from "esbuild";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Build } from "./install-build.ts";

/** Browsers of the last two years or so. */
const BROWSERS = ["chrome123", "firefox121", "safari17.5"];

/** Where the server has the files whose names contain a hash. */
const ASSETS = "/assets/";

export interface WebApp {
  /** The page is the launcher: it is installed last, after the files that it loads. */
  readonly build: Build;
  readonly inputs: readonly string[];
}

/** Bundles the dashboard for browsers: one script, its style, and chunks that a page loads when needed. */
export async function webApp(root: string, options: BuildOptions = {}): Promise<WebApp> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["src/web/main.tsx", "src/web/style/main.css"],
    outdir: "dist/web",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    publicPath: ASSETS,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    target: BROWSERS,
    jsx: "automatic",
    jsxImportSource: "preact",
    // Every kilobyte is loaded by a phone.
    minify: true,
    legalComments: "none",
    logLevel: "warning",
    ...options,
    metafile: true,
    write: false,
  });
  const chunks = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  const page = await readFile(join(root, "src/web/index.html"), "utf8");
  const text = page.replaceAll(/\/assets\/main\.(js|css)/g, (_, ending: string) => {
    const name = [...chunks.keys()].find((each) => new RegExp(`^main-.*\\.${ending}$`).test(each));
    if (name === undefined) throw new Error(`Cannot find the dashboard's main.${ending}`);
    return ASSETS + name;
  });
  return {
    build: { chunks, launcher: { name: "index.html", text } },
    inputs: Object.keys(metafile.inputs),
  };
}

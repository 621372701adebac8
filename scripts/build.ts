// Bundles src/cli/main.ts into dist/: a small launcher, and chunks that are loaded when needed.
import { type BuildFailure, build, stop } from "esbuild";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { builtinRequires } from "./builtin-requires.ts";
import { type Build, installBuild } from "./install-build.ts";
import { licenses } from "./licenses.ts";

const ROOT = join(import.meta.dirname, "..");
const ENTRY = "src/cli/main.ts";

async function bundle(): Promise<Build> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [ENTRY],
    outdir: "dist",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node26",
    // The default prefers "main", which for jsonc-parser is a format that cannot be bundled.
    mainFields: ["module", "main"],
    define: {
      __TRUNKLINE_VERSION__: JSON.stringify(packageJson.version),
      // Leaves out the native add-ons that ws would look for.
      "process.env.WS_NO_BUFFER_UTIL": '"1"',
      "process.env.WS_NO_UTF_8_VALIDATE": '"1"',
    },
    plugins: [builtinRequires],
    // Removes what the definitions make dead. Shorter names and lines would start no faster, and
    // stack traces would say less.
    minifySyntax: true,
    legalComments: "none",
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  const main = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === ENTRY);
  if (main === undefined) throw new Error(`Cannot find ${ENTRY} among the bundled files`);
  const chunks = new Map<string, Uint8Array | string>();
  for (const { path, contents } of outputFiles) chunks.set(basename(path), contents);
  chunks.set("THIRD-PARTY-LICENSES.txt", await licenses(ROOT, Object.keys(metafile.inputs)));
  const launcher = await readFile(join(ROOT, "scripts/launcher.js"), "utf8");
  const text = launcher.replace("./MAIN", `./${basename(main[0])}`);
  return { chunks, launcher: { name: "trunkline.js", text } };
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error;
}

try {
  await installBuild(join(ROOT, "dist"), await bundle());
} catch (error) {
  // esbuild has told what is wrong.
  if (!isBuildFailure(error)) throw error;
  process.exitCode = 1;
} finally {
  await stop();
}

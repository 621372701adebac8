// Bundles src/cli/main.ts into dist/: a small launcher, and chunks that are loaded when needed.
import { type BuildFailure, type BuildOptions, build, stop } from "esbuild";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { builtinRequires } from "./builtin-requires.ts";
import { cheapBuiltins } from "./cheap-builtins.ts";
import { hotCommand } from "./hot-command.ts";
import { type Build, installBuild } from "./install-build.ts";
import { licenses } from "./licenses.ts";

const ROOT = join(import.meta.dirname, "..");
const ENTRY = "src/cli/main.ts";

/** The commands that others start again and again: each is one file with all it needs at once. */
const HOT = ["mcp", "acp"];

const OPTIONS = {
  absWorkingDir: ROOT,
  outdir: "dist",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node26",
  // The default prefers "main", which for jsonc-parser is a format that cannot be bundled.
  mainFields: ["module", "main"],
  define: {
    __TRUNKLINE_VERSION__: JSON.stringify(packageJson.version),
    // Leaves out the native helpers that ws would look for.
    "process.env.WS_NO_BUFFER_UTIL": '"1"',
    "process.env.WS_NO_UTF_8_VALIDATE": '"1"',
  },
  // Removes what the definitions make dead. Shorter names and lines would start no faster, and
  // stack traces would say less.
  minifySyntax: true,
  legalComments: "none",
  metafile: true,
  write: false,
  logLevel: "warning",
} as const satisfies BuildOptions;

async function bundle(): Promise<Build> {
  const split = await build({
    ...OPTIONS,
    entryPoints: [ENTRY],
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    splitting: true,
    plugins: [builtinRequires, cheapBuiltins],
  });
  const chunks = new Map<string, Uint8Array | string>();
  const keep = ({ outputFiles }: typeof split): void => {
    for (const { path, contents } of outputFiles) chunks.set(basename(path), contents);
  };
  keep(split);
  const entries = new Map<string, string>();
  for (const [path, { entryPoint }] of Object.entries(split.metafile.outputs)) {
    if (entryPoint !== undefined) entries.set(join(ROOT, entryPoint), basename(path));
  }
  const chunkOf = (source: string): string => {
    const chunk = entries.get(source);
    if (chunk === undefined) throw new Error(`Cannot find ${source} among the bundled files`);
    return chunk;
  };
  const starts: Record<string, string> = { main: chunkOf(join(ROOT, ENTRY)) };
  for (const command of HOT) {
    const hot = await build({
      ...OPTIONS,
      entryPoints: [ENTRY],
      entryNames: `start-${command}-[hash]`,
      plugins: [builtinRequires, hotCommand(ROOT, command, chunkOf), cheapBuiltins],
    });
    keep(hot);
    starts[command] = basename(Object.keys(hot.metafile.outputs)[0] ?? "");
  }
  const inputs = Object.keys(split.metafile.inputs);
  chunks.set("THIRD-PARTY-LICENSES.txt", await licenses(ROOT, inputs));
  const launcher = await readFile(join(ROOT, "scripts/launcher.js"), "utf8");
  const text = launcher.replace('"STARTS"', JSON.stringify(starts));
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

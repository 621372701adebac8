// Bundles src/cli/main.ts into dist/: a small launcher, and chunks that are loaded when needed.
import { type BuildFailure, type BuildOptions, build, type Plugin, stop } from "esbuild";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { builtinRequires } from "./builtin-requires.ts";
import { cheapBuiltins } from "./cheap-builtins.ts";
import { hotCommand } from "./hot-command.ts";
import { type Build, installBuild } from "./install-build.ts";
import { lazyOutside } from "./lazy-outside.ts";
import { licenses } from "./licenses.ts";

const ROOT = join(import.meta.dirname, "..");
const ENTRY = "src/cli/main.ts";

/** The commands that others start again and again: each is one file with all it needs at once. */
const HOT = ["mcp", "acp"];

/** What they need when there is a configuration, and servers in it: one file each, too. */
const WHOLE = [
  "src/gateway/config/files.ts",
  "src/gateway/config/schema.gen.ts",
  "src/store/approvals.ts",
  "src/upstream/upstreams.ts",
];

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
  /** Makes one file of an entry and all that it imports at once. */
  const whole = async (entry: string, name: string, ...plugins: Plugin[]): Promise<string> => {
    const built = await build({
      ...OPTIONS,
      entryPoints: [entry],
      entryNames: `${name}-[hash]`,
      plugins: [builtinRequires, ...plugins, lazyOutside(chunkOf), cheapBuiltins],
    });
    keep(built);
    return basename(Object.keys(built.metafile.outputs)[0] ?? "");
  };
  const starts: Record<string, string> = { main: chunkOf(join(ROOT, ENTRY)) };
  for (const source of WHOLE) {
    const name = `whole-${basename(source, ".ts")}`;
    entries.set(join(ROOT, source), await whole(source, name));
  }
  for (const command of HOT) {
    starts[command] = await whole(ENTRY, `start-${command}`, hotCommand(ROOT, command));
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

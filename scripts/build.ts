// Bundles src/cli/main.ts into dist/: a small launcher, and one file with all modules.
import {
  type BuildFailure,
  type BuildOptions,
  type Format,
  build,
  type OutputFile,
  type Plugin,
  stop,
} from "esbuild";
import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { type Build, installBuild } from "./install-build.ts";
import { licenses } from "./licenses.ts";
import { packOf } from "./pack.ts";
import { pluginModule } from "./plugin-module.ts";
import { START, startChunk } from "./start-chunk.ts";
import { type WebApp, webApp } from "./web-app.ts";

const ROOT = join(import.meta.dirname, "..");
/** A program that starts during a build still finds the files of the one before. */
const MINUTE_MS = 60_000;
const ENTRY = "src/cli/main.ts";

/** What other programs start often. The program itself comes last: it runs when it is loaded. */
const STARTED_OFTEN = ["src/cli/serve/mcp.ts", "src/cli/serve/acp.ts", ENTRY];

const OPTIONS = {
  absWorkingDir: ROOT,
  outdir: "dist",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node26",
  // The default prefers "main", which for jsonc-parser is a format that cannot be bundled.
  mainFields: ["module", "main"],
  // For Node it is CommonJS, and a chunk of it that is imported later exports only "default".
  alias: { yaml: join(ROOT, "node_modules/yaml/browser/index.js") },
  define: {
    __TRUNKLINE_VERSION__: JSON.stringify(packageJson.version),
    // Leaves out the optional native helpers of ws.
    "process.env.WS_NO_BUFFER_UTIL": '"1"',
    "process.env.WS_NO_UTF_8_VALIDATE": '"1"',
  },
  // Removes code that the definitions make unreachable. Shorter names and lines would not start faster,
  // and would make stack traces less readable.
  minifySyntax: true,
  legalComments: "none",
  metafile: true,
  write: false,
  logLevel: "warning",
} as const satisfies BuildOptions;

/**
 * Parts of packages that nothing here asks for, half a megabyte, and what stands in for them: zod's
 * messages in fifty other languages, and the provider that `ai` uses for a model without one.
 */
const UNUSED: readonly (readonly [file: RegExp, contents: string])[] = [
  [/[/\\]zod[/\\]v4[/\\]locales[/\\]index\.js$/, `export { default as en } from "./en.js";`],
  [
    /[/\\]@ai-sdk[/\\]gateway[/\\]dist[/\\]index\.js$/,
    `export class GatewayError extends Error {
       static isInstance() { return false; }
     }
     export { GatewayError as GatewayAuthenticationError };
     export const gateway = {};
     export const createGateway = () => gateway;`,
  ],
];

const withoutUnused: Plugin = {
  name: "without-unused",
  setup(build) {
    for (const [filter, contents] of UNUSED) build.onLoad({ filter }, () => ({ contents }));
  },
};

/**
 * Lets CommonJS packages that require("node:…") run inside an ES module bundle, where there is no
 * `require`. A banner with `createRequire` would work too, but would slow down every chunk at every start.
 *
 * Imports of node:http are replaced, too: Node reads all exports of a module that is imported, and two of
 * this one load undici, which takes 70 ms and 16 MB.
 */
const builtinRequires: Plugin = {
  name: "builtin-requires",
  setup(build) {
    build.onResolve({ filter: /^node:http$/ }, ({ kind, importer }) =>
      // What it would resolve to has only a default export.
      kind === "dynamic-import"
        ? { errors: [{ text: `${importer} must use process.getBuiltinModule("node:http")` }] }
        : undefined,
    );
    build.onResolve({ filter: /./ }, ({ kind, path }) =>
      (kind === "require-call" && isBuiltin(path)) || path === "node:http"
        ? { path, namespace: "builtin" }
        : undefined,
    );
    build.onLoad({ filter: /./, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** Programs that run in a process or thread of their own: the process that starts one has its code in memory. */
const PROGRAMS: Readonly<Record<string, readonly [entry: string, format: Format]>> = {
  __TRUNKLINE_QUIC_ENGINE__: ["src/wire/quic/engine-main.ts", "cjs"],
  __TRUNKLINE_SANDBOX_NETWORK__: ["src/sandbox/network-main.ts", "esm"],
  __TRUNKLINE_MOUNT__: ["src/run/workspace/mount-main.ts", "esm"],
  __TRUNKLINE_PARSER__: ["src/rpc/message/parse-main.ts", "cjs"],
};

async function buildProgram(entry: string, format: Format): Promise<string> {
  const { outputFiles } = await build({
    ...OPTIONS,
    format,
    entryPoints: [entry],
  });
  const [{ text }] = outputFiles as [OutputFile];
  return text;
}

async function bundle(web: WebApp): Promise<Build> {
  const define: Record<string, string> = { ...OPTIONS.define };
  for (const [name, [entry, format]] of Object.entries(PROGRAMS)) {
    define[name] = JSON.stringify(await buildProgram(entry, format));
  }
  const options = { ...OPTIONS, define, splitting: true, chunkNames: "[name]-[hash]" };
  const plugins = [builtinRequires, withoutUnused];
  const split = await build({ ...options, entryPoints: [ENTRY], plugins });
  const joined = await build({
    ...options,
    entryPoints: [START],
    plugins: [startChunk(split, STARTED_OFTEN)],
  });
  const pack = packOf(
    new Map(joined.outputFiles.map(({ path, text }) => [basename(path), Buffer.from(ascii(text))])),
  );
  const plugin = await pluginModule(ROOT, { ...options, plugins });
  const inputs = [...Object.keys(split.metafile.inputs), ...plugin.inputs, ...web.inputs];
  const launcher = await readFile(join(ROOT, "scripts/launcher.js"), "utf8");
  return {
    chunks: new Map<string, Uint8Array | string>([
      [pack.name, pack.bytes],
      ...plugin.files,
      ["THIRD-PARTY-LICENSES.txt", await licenses(ROOT, inputs)],
      // As a script the launcher starts 1.5 ms sooner than as a module.
      ["package.json", '{ "type": "commonjs" }\n'],
      ["newer-node.mjs", await readFile(join(ROOT, "scripts/newer-node.mjs"), "utf8")],
    ]),
    launcher: { name: "trunkline.js", text: launcher.replace('"PACK"', `"${pack.name}"`) },
  };
}

/**
 * Escapes what esbuild leaves in comments and regular expressions. V8 keeps a text with one such
 * character at two bytes for each, which for the code of a start is 0.7 MB of memory.
 */
function ascii(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error;
}

try {
  // A package contains this build only.
  const isAlone = process.argv.includes("--alone");
  const web = await webApp(ROOT);
  const program = await bundle(web);
  // First what the program serves. It reads all of it when it starts, and nothing after that.
  await installBuild(join(ROOT, "dist/web"), web.build, new Date(), isAlone ? 0 : MINUTE_MS);
  await installBuild(join(ROOT, "dist"), program, new Date(), isAlone ? 0 : undefined);
} catch (error) {
  // esbuild has printed the errors.
  if (!isBuildFailure(error)) throw error;
  process.exitCode = 1;
} finally {
  await stop();
}

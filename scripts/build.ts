// Bundles src/cli/main.ts into dist/: a small launcher, scripts of the commands that must start fast,
// and one file with all modules that are loaded when needed.
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
import { basename, join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { withAsciiComments } from "./ascii-comments.ts";
import { builtinRequires } from "./builtin-requires.ts";
import { compiledCode } from "./compiled-code.ts";
import { cheapBuiltins } from "./cheap-builtins.ts";
import { hotCommand } from "./hot-command.ts";
import { type Build, installBuild } from "./install-build.ts";
import { lazyOutside } from "./lazy-outside.ts";
import { launcherText } from "./launcher-text.ts";
import { licenses } from "./licenses.ts";
import { packOf } from "./pack.ts";
import { pluginModule } from "./plugin-module.ts";
import { type WebApp, webApp } from "./web-app.ts";

const ROOT = join(import.meta.dirname, "..");
const ENTRY = "src/cli/main.ts";

/** The commands that other programs start often: each is one file with everything it needs at the start. */
const HOT = ["mcp", "acp", "review add", "review list"];

/**
 * What they need if there is a configuration or a server to ask, and what they watch soon after a
 * start: also one file each.
 */
const WHOLE = [
  "src/config/schema/schema.gen.ts",
  "src/store/approval/approvals.ts",
  "src/upstream/upstreams.ts",
  "src/review/inbox/drop-files.ts",
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

/** Scripts, not modules: the launcher runs them with cached compiled code. */
const SCRIPT = {
  format: "cjs",
  outExtension: { ".js": ".cjs" },
  banner: { js: "(function (module, require) {" },
  footer: { js: "})" },
} as const satisfies BuildOptions;

/** Programs that run in a process or thread of their own: the process that starts one has its code in memory. */
const PROGRAMS: Readonly<Record<string, readonly [entry: string, format: Format]>> = {
  __TRUNKLINE_QUIC_ENGINE__: ["src/wire/quic/engine-main.ts", "cjs"],
  __TRUNKLINE_SANDBOX_ENTER__: ["src/sandbox/enter-main.ts", "esm"],
  __TRUNKLINE_PLUGIN_HOST__: ["src/plugin/host/host-main.ts", "cjs"],
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
  const options = { ...OPTIONS, define };
  const split = await build({
    ...options,
    entryPoints: [ENTRY],
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    splitting: true,
    plugins: [builtinRequires, cheapBuiltins, withoutUnused],
  });
  const code = new Map<string, Uint8Array | string>();
  for (const { path, contents } of split.outputFiles) code.set(basename(path), contents);
  const entries = new Map<string, string>();
  for (const [path, { entryPoint }] of Object.entries(split.metafile.outputs)) {
    if (entryPoint !== undefined) entries.set(join(ROOT, entryPoint), basename(path));
  }
  const chunkOf = (source: string): string => {
    const chunk = entries.get(source);
    if (chunk === undefined) throw new Error(`Cannot find ${source} among the bundled files`);
    return chunk;
  };
  /** Makes one script of an entry and all of its static imports. */
  const whole = async (
    entry: string,
    name: string,
    ...plugins: Plugin[]
  ): Promise<readonly [name: string, text: string]> => {
    const built = await build({
      ...options,
      ...SCRIPT,
      entryPoints: [entry],
      entryNames: `${name}-[hash]`,
      plugins: [builtinRequires, ...plugins, lazyOutside(chunkOf), cheapBuiltins],
    });
    const [{ path, text }] = built.outputFiles as [OutputFile];
    if (/\bimport\(/.test(text)) throw new Error(`Cannot run ${name}: a script cannot import()`);
    return [basename(path), withAsciiComments(text)];
  };
  for (const source of WHOLE) {
    const name = `whole-${basename(source, ".ts")}`;
    const [script, text] = await whole(source, name);
    entries.set(join(ROOT, source), script);
    code.set(script, text);
  }
  const chunks = new Map<string, Uint8Array | string>();
  const starts = new Map<string, string>();
  for (const command of HOT) {
    const name = `start-${command.replace(" ", "-")}`;
    const [script, text] = await whole(ENTRY, name, await hotCommand(ROOT, command));
    starts.set(command, script);
    chunks.set(script, text);
  }
  const pack = packOf(code);
  const plugin = await pluginModule(ROOT, options);
  chunks.set(pack.name, pack.bytes);
  for (const [name, content] of plugin.files) chunks.set(name, content);
  const inputs = [...Object.keys(split.metafile.inputs), ...plugin.inputs, ...web.inputs];
  chunks.set("THIRD-PARTY-LICENSES.txt", await licenses(ROOT, inputs));
  // As a script the launcher starts 1.5 ms sooner than as a module.
  chunks.set("package.json", '{ "type": "commonjs" }\n');
  chunks.set("newer-node.mjs", await readFile(join(ROOT, "scripts/newer-node.mjs"), "utf8"));
  const text = launcherText(await readFile(join(ROOT, "scripts/launcher.js"), "utf8"), pack, {
    main: chunkOf(join(ROOT, ENTRY)),
    starts,
  });
  return { chunks, launcher: { name: "trunkline.js", text } };
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error;
}

try {
  // A package contains this build only.
  const keepMs = process.argv.includes("--alone") ? 0 : undefined;
  const web = await webApp(ROOT);
  const program = await bundle(web);
  // First what the program serves: when it starts anew, it reads all of it.
  await installBuild(join(ROOT, "dist/web"), web.build, new Date(), keepMs);
  const dist = join(ROOT, "dist");
  await installBuild(dist, program, new Date(), keepMs);
  if (keepMs === 0) {
    const code = await compiledCode(join(dist, program.launcher.name));
    const chunks = new Map([...program.chunks, ...code]);
    await installBuild(dist, { ...program, chunks }, new Date(), keepMs);
  }
} catch (error) {
  // esbuild has printed the errors.
  if (!isBuildFailure(error)) throw error;
  process.exitCode = 1;
} finally {
  await stop();
}

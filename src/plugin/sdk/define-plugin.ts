import { DefinedPlugin } from "./defined-plugin.ts";
import type { Plugin, PluginDefinition } from "./definition.ts";
import { partsOf } from "./parts.ts";
import { basename } from "node:path";
import { background } from "../../base/background.ts";
import { type PluginFlags, readFlags, wantsPlugin } from "./flags.ts";
import { requireNode } from "./node-version.ts";

// Before anything that an older Node does not have.
requireNode();

/**
 * Makes a plugin. A program that is started as an orchestrator starts plugins, with
 * `--orchestrator-addr`, `--listen-addr` or `--manifest`, then is that plugin.
 */
export function definePlugin<const Tools = unknown, const Prompts = unknown>(
  definition: PluginDefinition<Tools, Prompts>,
): Plugin {
  const plugin = new DefinedPlugin(partsOf(definition));
  launch(plugin);
  return plugin;
}

const defined: DefinedPlugin[] = [];

/**
 * Starts a plugin, if the program was started as one. When several are defined, as where one module
 * imports another, it is the last: that of the module that was started.
 */
function launch(plugin: DefinedPlugin): void {
  if (defined.push(plugin) > 1) return;
  if (wantsPlugin(process.argv.slice(2)))
    setImmediate(() => background(start(), "Starting the plugin"));
  else process.once("beforeExit", explain);
}

async function start(): Promise<void> {
  const latest = defined.at(-1);
  // If the program has run one of them itself, no other is started.
  if (latest === undefined || defined.some((one) => DefinedPlugin.isTaken(one))) return;
  await runPlugin(latest);
}

/** Prints the usage if nothing has used the plugin before the program ends: it was started by hand. */
function explain(): void {
  const latest = defined.at(-1);
  if (latest === undefined || defined.some((one) => DefinedPlugin.isUsed(one))) return;
  // The runner of tests starts files that may do no more than import a plugin.
  if (process.env.NODE_TEST_CONTEXT !== undefined) return;
  const { id, version } = latest.manifest;
  const file = basename(process.argv[1] ?? "plugin.ts");
  process.exitCode = 2;
  process.stderr.write(`This is plugin '${id}' ${version}. An orchestrator starts it, or you do:

  node ${file} --manifest                      prints what it offers, as JSON
  node ${file} --orchestrator-addr=HOST:PORT   serves, and registers there
  node ${file} --listen-addr=HOST:PORT         serves there (localhost:0)

  --certs-dir=DIR   the certificates of the bus (~/.orchestra/certs)
`);
}

/**
 * Runs a plugin as the program: serves until it is told to end, by its orchestrator, by a signal or
 * by the end of its input, and ends the process. `definePlugin` does this by itself where a program
 * is started as a plugin.
 */
export async function runPlugin(
  plugin: Plugin,
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  const parts = DefinedPlugin.take(plugin);
  const { id } = parts.manifest;
  let flags: PluginFlags;
  try {
    flags = readFlags(args);
  } catch (error) {
    process.stderr.write(`Cannot start plugin '${id}': ${(error as Error).message}\n`);
    process.exit(2);
  }
  if (flags.isManifest) {
    process.stdout.write(`${JSON.stringify(parts.manifest)}\n`, () => process.exit(0));
    return;
  }
  // Standard output goes to stderr, where its diagnostics are read.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const { serveProgram } = await import("./serve/serve-program.ts");
  await serveProgram(parts, flags);
}

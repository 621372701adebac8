import { DefinedPlugin } from "./defined-plugin.ts";
import type { Plugin } from "./definition.ts";
import { type PluginFlags, readFlags } from "./flags.ts";

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
  // What it prints is for whoever reads its diagnostics.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const { serveProgram } = await import("./serve/serve-program.ts");
  await serveProgram(parts, flags);
}

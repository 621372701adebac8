import { TrunklineError } from "../../base/errors.ts";
import { Log } from "../../base/log.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { type PluginFlags, readFlags, splitFlags } from "../../plugin/sdk/flags.ts";
import type { Invocation } from "../shell/command.ts";
import { openApp } from "../shell/open-app.ts";
import type { Consent } from "./approve.ts";
import { nameOf } from "./server-id.ts";
import { triedPlugin } from "./tried-plugin.ts";

/** `trunkline plugin mcp PLUGIN`: an MCP server on the standard streams. */
export async function serve(
  invocation: Invocation<Consent & { readonly id?: string }>,
): Promise<number> {
  const { positionals, cwd, values, err } = invocation;
  const app = await openApp(invocation);
  const { config } = app;
  const { settings, note } = await triedPlugin(positionals, { cwd, config, consent: values });
  err(`${visibleLine(settings.id)}: ${visibleLine(note)}\n`);
  const { servePluginOnStdio } = await import("../../app/bus/plugin-on-stdio.ts");
  await servePluginOnStdio(app, settings);
  return 0;
}

/** `trunkline plugin wrap -- COMMAND…`: a plugin, as orchestrators start it. */
export async function wrap(invocation: Invocation<{ readonly id?: string }>): Promise<number> {
  const { positionals, values, env, out } = invocation;
  const { own, flags } = splitFlags(positionals);
  const [command, ...args] = own;
  if (command === undefined) {
    const what = "Cannot wrap an MCP server: name its command after `--`";
    throw new TrunklineError("usage", `${what}, such as \`trunkline plugin wrap -- npx SERVER\`.`);
  }
  const id = values.id ?? nameOf(own);
  const given = readGiven(flags);
  const { mcpPlugin } = await import("../../plugin/open/mcp-plugin.ts");
  const log = new Log("warn");
  const parts = await mcpPlugin({ id, command, args, env, log });
  if (given.isManifest) {
    out(`${JSON.stringify(parts.manifest)}\n`);
    await parts.shutdown?.();
    return 0;
  }
  const { serveProgram } = await import("../../plugin/sdk/serve/serve-program.ts");
  await serveProgram(parts, given);
  return 0;
}

function readGiven(flags: readonly string[]): PluginFlags {
  if (flags.length > 0) return readFlags(flags);
  const how = "an orchestrator does it, with --orchestrator-addr=HOST:PORT after the command";
  const next = "To have its tools in every assistant, use `trunkline plugin add --mcp`";
  throw new TrunklineError("usage", `Cannot start a plugin by hand: ${how}. ${next}.`);
}

import { maskText } from "../../base/text/mask.ts";
import { loadConfig } from "../../gateway/config/load.ts";
import type { Config } from "../../gateway/config/config.ts";
import { keyText } from "../../gateway/config/layer.ts";
import { gatewaySockets } from "../../gateway/relay/gateway-sockets.ts";
import { serversNow } from "../../gateway/relay/reach-gateway.ts";
import { ApprovalsFile } from "../../store/approval/approvals-file.ts";
import { fileOf } from "../config/edit-entry.ts";
import { inputOf } from "../config/tell-edited.ts";
import type { Invocation } from "../shell/command.ts";
import { table } from "../shell/layout.ts";

/**
 * `trunkline server list`. Starts none of them: the numbers are from when each was last seen. A gateway
 * that runs says which of them have an instance for each client.
 */
export async function list(invocation: Invocation<{ readonly json?: boolean }>): Promise<number> {
  const { values, out, err } = invocation;
  const loaded = await loadConfig(inputOf(invocation));
  for (const warning of loaded.warnings) err(`warning: ${warning}\n`);
  const approvals = [...(await new ApprovalsFile(loaded.config.data).read()).values()];
  const running = await serversNow(gatewaySockets(loaded.config.data));
  const servers = Object.entries(loaded.config.mcpServers).map(([name, settings]) => {
    const part = "url" in settings ? "url" : "command";
    const origin = loaded.origins.get(keyText(["mcpServers", name, part]));
    const known = approvals.filter(({ server }) => server === name);
    const held = known.filter(({ held: waiting }) => waiting !== undefined).length;
    // A server that asks questions is given an instance for each client while a gateway runs.
    const switched = running.find((one) => one.name === name && one.isSwitched === true);
    return {
      name,
      ...(settings.disabled === true ? { disabled: true } : {}),
      instance: switched?.instance ?? settings.instance ?? "shared",
      ...(switched === undefined ? {} : { isSwitched: true }),
      runs: maskText(commandLine(settings)),
      from: origin === undefined ? "" : fileOf(invocation, origin.where),
      tools: known.length,
      held,
    };
  });
  if (values.json === true) out(`${JSON.stringify({ servers }, null, 2)}\n`);
  else if (servers.length === 0) {
    err("There are no MCP servers. Add one with `trunkline server add NAME -- COMMAND`.\n");
  } else {
    const rows = servers.map(
      ({ name, runs, from, tools, held, instance, isSwitched, disabled }) => {
        const each = isSwitched === true ? `${instance}, since it asks` : instance;
        return [name, disabled === true ? "disabled" : toolsText(tools, held), each, from, runs];
      },
    );
    out(table([["NAME", "TOOLS", "INSTANCE", "FROM", "COMMAND OR URL"], ...rows]));
    if (servers.some(({ held }) => held > 0))
      err("Check held tools with `trunkline tools diff`.\n");
  }
  return 0;
}

function toolsText(tools: number, held: number): string {
  if (tools === 0) return "not seen yet";
  return held === 0 ? String(tools) : `${tools}, ${held} held`;
}

function commandLine(settings: Config["mcpServers"][string]): string {
  if ("url" in settings) return settings.url;
  return [settings.command, ...(settings.args ?? [])].join(" ");
}

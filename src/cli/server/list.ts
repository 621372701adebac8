import { maskText } from "../../base/text/mask.ts";
import { loadConfig } from "../../config/load.ts";
import { keyText } from "../../config/layer.ts";
import { gatewaySockets } from "../../server/relay/gateway-sockets.ts";
import { serversNow } from "../../server/relay/reach-gateway.ts";
import { ServerLogins } from "../../upstream/open/server-logins.ts";
import type { LoginState } from "../../upstream/oauth/login-tokens.ts";
import { ApprovalsFile } from "../../store/approval/approvals-file.ts";
import { fileOf } from "../config/edit-entry.ts";
import { inputOf } from "../config/tell-edited.ts";
import { isAddress, shownSource } from "../../upstream/settings.ts";
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
  const { data } = loaded.config;
  const running = await serversNow(data, gatewaySockets(data));
  const logins = new ServerLogins({ data: loaded.config.data, env: invocation.env });
  const known = Object.entries(loaded.config.mcpServers).map(async ([name, settings]) => {
    const part = ["openapi", "command", "url"].find((key) => key in settings) ?? "";
    const origin = loaded.origins.get(keyText(["mcpServers", name, part]));
    const tools = approvals.filter(({ server }) => server === name);
    const held = tools.filter(({ held: waiting }) => waiting !== undefined).length;
    // A server that asks questions is given an instance for each client while a gateway runs.
    const switched = running.find((one) => one.name === name && one.isSwitched === true);
    return {
      name,
      ...(settings.disabled === true ? { disabled: true } : {}),
      instance: switched?.instance ?? settings.instance ?? "shared",
      ...(switched === undefined ? {} : { isSwitched: true }),
      runs: maskText(shownSource(settings)),
      from: origin === undefined ? "" : fileOf(invocation, origin.where),
      tools: tools.length,
      held,
      ...(isAddress(settings) && URL.canParse(settings.url)
        ? { login: await logins.of(name, new URL(settings.url)).state() }
        : {}),
    };
  });
  const servers = await Promise.all(known);
  if (values.json === true) out(`${JSON.stringify({ servers }, null, 2)}\n`);
  else if (servers.length === 0) {
    err("There are no MCP servers. Add one with `trunkline server add NAME -- COMMAND`.\n");
  } else {
    const rows = servers.map(
      ({ name, runs, from, tools, held, instance, isSwitched, disabled, login }) => {
        const each = isSwitched === true ? `${instance}, since it asks` : instance;
        const shown = disabled === true ? "disabled" : toolsText(tools, held);
        return [name, shown, each, loginText(login ?? {}), from, runs];
      },
    );
    out(
      table([["NAME", "TOOLS", "INSTANCE", "LOGIN", "FROM", "COMMAND, URL OR DOCUMENT"], ...rows]),
    );
    if (servers.some(({ held }) => held > 0))
      err("Check held tools with `trunkline tools diff`.\n");
  }
  return 0;
}

function toolsText(tools: number, held: number): string {
  if (tools === 0) return "not seen yet";
  return held === 0 ? String(tools) : `${tools}, ${held} held`;
}

/** How a login is, in a few words; nothing for a server that nobody has logged in to. */
function loginText({ issuer, ended, wanted, expiresAt, isRenewed }: LoginState): string {
  if (ended !== undefined) return "ended";
  if (issuer === undefined) return "";
  if (isRenewed !== true && expiresAt !== undefined && expiresAt < Date.now()) return "expired";
  return wanted === undefined ? "logged in" : "logged in, wants more";
}

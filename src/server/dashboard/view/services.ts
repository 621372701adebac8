import { defined } from "../../../base/defined.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { OWNER } from "../../../base/principal.ts";
import { maskText } from "../../../base/text/mask.ts";
import {
  hasAuthorization,
  isAddress,
  isLoginless,
  shownSource,
} from "../../../upstream/settings.ts";
import type { Config } from "../../../config/config.ts";
import type { PluginRow, ServerRow } from "../api.ts";
import { type LiveSource, PolledRows } from "../live/polled-rows.ts";
import { type ApiRoute, route } from "../../../base/capability/api-route.ts";
import type { DashboardSources } from "../sources.ts";

/** Lines of a log that a row has. */
const MOST_LINES = 50;

/** Other MCP servers and plugins: their state and log, and how to restart them. */
export function serviceParts(
  sources: DashboardSources,
  configured: () => Config["mcpServers"],
): {
  readonly routes: readonly ApiRoute[];
  readonly live: readonly LiveSource[];
  /** How many servers do not work. */
  readonly down: () => number;
} {
  const servers = async () => serverRows(sources, configured());
  const plugins = () => pluginRows(sources);
  return {
    down: () =>
      sources.tools
        .status()
        .filter(({ name, state }) => name in configured() && stateOf(state) === "down").length,
    routes: [
      route("GET /api/servers", "admin", async () => ({ servers: await servers() })),
      route("GET /api/plugins", "admin", async () => ({ plugins: await plugins() })),
      route("POST /api/servers/:id/restart", "admin", async ({ id }) => {
        await sources.tools.restart(id);
        return { ok: true };
      }),
      route("POST /api/plugins/:id/restart", "admin", async ({ id }) => {
        const bus = await sources.bus.opened();
        if (bus === undefined) throw new TrunklineError("not-found", `There is no plugin '${id}'.`);
        await bus.plugin(id).restart();
        return { ok: true };
      }),
    ],
    live: [
      new PolledRows({ event: "server", every: 500, read: servers, idOf: ({ name }) => name }),
      new PolledRows({ event: "plugin", every: 500, read: plugins, idOf: ({ id }) => id }),
    ],
  };
}

function serverRows({ tools }: DashboardSources, configured: Config["mcpServers"]): ServerRow[] {
  const known = new Map(tools.status().map((status) => [status.name, status]));
  const counts = Map.groupBy(tools.offer.tools.list(OWNER), ({ source }) => source?.server);
  return Object.entries(configured).map(([name, settings]) => {
    const status = known.get(name);
    const { listError, noTools, lastError } = status ?? {};
    const none = listError === undefined ? noTools : `could not list its tools: ${listError}`;
    const says = status?.state === "up" ? none : lastError;
    return defined<ServerRow>({
      name,
      state: stateOf(status?.state),
      says: masked(says),
      tools: counts.get(name)?.length ?? 0,
      where: maskText(shownSource(settings)),
      canLogIn: canLogIn(settings) ? true : undefined,
      log: linesOf(status?.said ?? []),
    });
  });
}

function masked(text: string | undefined): string | undefined {
  return text === undefined ? undefined : maskText(text);
}

function canLogIn(settings: Config["mcpServers"][string]): boolean {
  return isAddress(settings) && !isLoginless(settings) && !hasAuthorization(settings);
}

async function pluginRows(sources: DashboardSources): Promise<PluginRow[]> {
  const bus = await sources.bus.opened();
  if (bus === undefined) return [];
  return bus.status().map((status) => {
    const { id, state, health, tools, restarts, calls, waiting, limits, lastError } = status;
    return defined<PluginRow>({
      ...{ id, state, tools, restarts, calls, waiting, limits },
      health: masked(health),
      lastError: masked(lastError),
      log: linesOf(bus.plugin(id).said),
    });
  });
}

function stateOf(state: string | undefined): ServerRow["state"] {
  if (state === "up" || state === "starting") return state;
  return state === undefined || state === "idle" ? "idle" : "down";
}

function linesOf(lines: readonly string[]): string[] {
  return lines.slice(-MOST_LINES).map(maskText);
}

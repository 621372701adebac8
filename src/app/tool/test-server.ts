import { OWNER } from "../../base/principal.ts";
import { AppContext } from "../../config/app-context.ts";
import type { Config } from "../../config/config.ts";
import type { ServerTest } from "../../server/dashboard/sources.ts";
import { namedServer } from "../../upstream/open/reach-login.ts";
import { openTools } from "./open-tools.ts";

/** Starts a configured server, lists its tools and stops it. Nothing else is started. */
export async function testServer(config: Config, name: string): Promise<ServerTest> {
  await using opened = await openTools(new AppContext(alone(config, name)));
  const started = performance.now();
  await opened.started();
  const milliseconds = Math.round(performance.now() - started);
  const [status] = opened.status();
  const { tools } = opened.offer;
  const offered = tools.list(OWNER).filter(({ source }) => source?.server === name);
  const held = tools.held().filter(({ source }) => source.server === name);
  const list = status?.listError && `it could not list its tools: ${status.listError}`;
  return {
    status,
    works: status?.state === "up" && status.listError === undefined,
    why: list ?? status?.lastError ?? "it did not start",
    milliseconds,
    offered: offered.map(({ definition }) => definition),
    held: held.map(({ tool }) => tool.definition),
  };
}

function alone(config: Config, name: string): Config {
  const { bus, log } = config;
  const settings = namedServer(config, name, "test");
  return {
    ...config,
    mcpServers: { [name]: settings },
    bus: { ...bus, plugins: {} },
    // Who tests it is told of failures, so they are not logged too.
    log: log.verbose ? log : { level: "error", verbose: false, requests: false },
  };
}

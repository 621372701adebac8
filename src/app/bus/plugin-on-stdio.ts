import { join } from "node:path";

import { OWNER } from "../../base/principal.ts";
import { TrunklineError } from "../../base/errors.ts";
import { openRunFolder } from "../../plugin/plugin/plugin-folder.ts";
import type { PluginSettings } from "../../plugin/plugin/settings.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";
import { serveStdio } from "../door/serve-stdio.ts";
import type { AppContext } from "../../config/app-context.ts";
import { openAudit, repositoryOf } from "../tool/toolbox-parts.ts";
import { busFolder, busPlan, openBus } from "../../plugin/open/bus.ts";

/** Serves one plugin as an MCP server on the standard streams, with a bus of its own. */
export async function servePluginOnStdio(app: AppContext, plugin: PluginSettings): Promise<void> {
  const { config, log, report } = app;
  // With the key of an authority: if we are killed, the next bus removes it.
  using own = await openRunFolder(busFolder(config.data));
  using audit = openAudit(app);
  const offer = new Offer({
    ...{ policy: new Policy(config.policy.tools), audit, report, repositoryOf },
  });
  const plan = {
    ...busPlan(config),
    plugins: [plugin],
    listen: "localhost:0",
    certsDir: join(own.path, "certs"),
  };
  await using bus = await openBus(plan, { offer, log, data: config.data });
  const only = bus.plugin(plugin.id);
  try {
    await only.start();
  } catch (error) {
    throw new TrunklineError("unavailable", (error as Error).message, { cause: error });
  }
  const door = new McpDoor({ offer, rootsTimeout: app.rootsTimeout });
  using connection = new Connection(OWNER, process.cwd());
  await serveStdio(app, connection, door.optionsFor(connection));
}

import { OWNER } from "../../base/principal.ts";
import { serveStdio } from "./serve-stdio.ts";
import type { House } from "../house.ts";
import { LazyTaskStore } from "../tool/lazy-tools.ts";
import { openTools } from "../tool/open-tools.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";

/** `trunkline mcp`, which assistants start. */
export async function serveMcpOnStdio(house: House): Promise<void> {
  await using tools = await openTools(house, { isLasting: true, mayRemember: true });
  await using tasks = new LazyTaskStore(house);
  const { rootsTimeout } = house;
  const door = new McpDoor({ offer: tools.offer, rootsTimeout, tasks: tasks.options });
  using connection = new Connection(OWNER, process.cwd());
  await serveStdio(house, connection, door.optionsFor(connection));
}

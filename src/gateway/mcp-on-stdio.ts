import { Connection } from "../protocol/mcp/connection.ts";
import { McpDoor } from "../protocol/mcp/door.ts";
import { Offer } from "../tool/offer.ts";
import type { House } from "./house.ts";
import { serveStdio } from "./serve-stdio.ts";

/** What an assistant starts. */
export async function serveMcpOnStdio(house: House): Promise<void> {
  const door = new McpDoor({ offer: new Offer() });
  using connection = new Connection();
  await serveStdio(house, connection, door.optionsFor(connection));
}

import { mcpServer } from "../protocol/mcp/serve.ts";
import type { House } from "./house.ts";
import { serveStdio } from "./serve-stdio.ts";

/** What an assistant starts. */
export function serveMcpOnStdio(house: House): Promise<void> {
  return serveStdio(house, mcpServer);
}

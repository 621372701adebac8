import { acpServer } from "../protocol/acp/serve.ts";
import type { House } from "./house.ts";
import { serveStdio } from "./serve-stdio.ts";

/** What an editor starts. */
export function serveAcpOnStdio(house: House): Promise<void> {
  return serveStdio(house, undefined, acpServer(house.config.limits.messages));
}

import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Folder of the running gateways in the data folder. */
const FOLDER = "gateways";
const SOCKET = ".sock";

/** Where a gateway is reached by other processes on its data folder. */
export function gatewaySocketPath(data: string, id: string): string {
  return join(data, FOLDER, id + SOCKET);
}

/** The sockets of the gateways of a data folder. Each start looks, so this loads nothing else. */
export function gatewaySockets(data: string): string[] {
  try {
    const names = readdirSync(`${data}/${FOLDER}`);
    return names.filter((name) => name.endsWith(SOCKET)).map((name) => join(data, FOLDER, name));
  } catch {
    return [];
  }
}

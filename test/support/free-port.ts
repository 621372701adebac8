import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Ports that no system gives to a program by itself: a server that is killed and started again would
 * otherwise find its port taken, by another test or by a connection.
 */
const FIRST = 12_000;
const LAST = 32_000;

/** A port that was free a moment ago, for a program that cannot choose one by itself. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}

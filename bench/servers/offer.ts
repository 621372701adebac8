import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Listens, reports the port to the parent process, and collects garbage on request. */
export function offer(http: Server): void {
  const tell = (message: unknown): void => void process.send?.(message);
  http.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () => {
    tell((http.address() as AddressInfo).port);
  });
  process.on("message", () => {
    // Memory that is left after the second collection is in use.
    globalThis.gc?.();
    globalThis.gc?.();
    tell("tidy");
  });
  process.on("disconnect", () => process.exit());
}

import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Listens, tells the parent process where, and tidies up memory when it is asked to. */
export function offer(http: Server): void {
  const tell = (message: unknown): void => void process.send?.(message);
  http.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () => {
    tell((http.address() as AddressInfo).port);
  });
  process.on("message", () => {
    // What is left after the second time is in use.
    globalThis.gc?.();
    globalThis.gc?.();
    tell("tidy");
  });
  process.on("disconnect", () => process.exit());
}

import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Listens, and reports the port to the parent process. */
export function offer(http: Server): void {
  http.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () => {
    process.send?.((http.address() as AddressInfo).port);
  });
  process.on("disconnect", () => process.exit());
}

import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";

import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Serving } from "../access/serving.ts";
import { watchFiles } from "../config/watch-files.ts";
import { readTls } from "./tls-files.ts";

/** An HTTP server that is not listening yet; with TLS if that is configured. */
export function createListener(
  { tls }: Serving,
  log: Log,
  handle: RequestListener,
): { readonly server: Server; readonly scheme: "http" | "https" } {
  if (tls === undefined) return { server: createServer(handle), scheme: "http" };
  const server = createTlsServer(readTls(tls), handle);
  // Certificates are renewed while servers run.
  const stop = watchFiles([tls.certFile, tls.keyFile], () => {
    try {
      server.setSecureContext(readTls(tls));
      log.info("tls.renewed");
    } catch (error) {
      log.warn("tls.not-renewed", { error });
    }
  });
  server.on("close", stop);
  return { server, scheme: "https" };
}

/** Listens on the configured address. */
export function listen(server: Server, { host, port }: Serving): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(explain(error, host, port)));
    server.listen(port, host, resolve);
  });
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): TrunklineError {
  const where = `${host}:${port}`;
  const why =
    error.code === "EADDRINUSE"
      ? "another program listens there. Stop it, or choose another with --port (0 picks a free one)."
      : error.code === "EACCES"
        ? "ports below 1024 need special rights. Choose another with --port."
        : error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND"
          ? "this machine has no such address. Use 0.0.0.0 to listen on all of its addresses."
          : error.message;
  return new TrunklineError("unavailable", `Cannot listen on ${where}: ${why}`, { cause: error });
}

import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";

import { TrunklineError } from "../../base/errors.ts";
import { memoryReturn } from "../../base/process/give-back-memory.ts";
import type { Log } from "../../base/log.ts";
import type { ServePlan } from "../access/serving.ts";
import { runningGateways } from "../../store/access/running-gateways.ts";
import { watchFiles } from "../../config/watch-files.ts";
import { arrivalLimit } from "../../wire/channel/http-body.ts";
import { MOVES_PATH } from "./move-routes.ts";
import { readTls } from "./tls-files.ts";

/**
 * Milliseconds that a connection may be idle. Node's five seconds are less than the time between two tool
 * calls, and on a busy machine Node closes a connection although the next request has arrived.
 */
const KEEP_ALIVE = 60_000;

/** An HTTP server that is not listening yet; with TLS if that is configured. */
export function createListener(
  { tls }: ServePlan,
  log: Log,
  handle: RequestListener,
): { readonly server: Server; readonly scheme: "http" | "https" } {
  const memory = memoryReturn();
  const watched = <T extends Server>(server: T): T => {
    server.keepAliveTimeout = KEEP_ALIVE;
    // Node's own limit is one for all requests.
    server.requestTimeout = 0;
    server.on("request", limitArrival);
    server.on("checkContinue", limitArrival);
    server.on("connection", (socket) => socket.once("close", () => memory.connectionEnded()));
    // A response that waits behind others on its connection has no socket yet. Node would put its
    // "100 Continue" between the header and the body, so the request waits, too.
    server.on("checkContinue", (request, response) => {
      const begin = (): void => {
        response.writeContinue();
        handle(request, response);
      };
      if (response.socket !== null) begin();
      else response.once("socket", begin);
    });
    return server;
  };
  if (tls === undefined) return { server: watched(createServer(handle)), scheme: "http" };
  const server = watched(createTlsServer(readTls(tls), handle));
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

/** A session with its work may take longer than other requests. */
const limitArrival = arrivalLimit((url) => url.startsWith(MOVES_PATH));

/** Listens on the configured address. The data folder says which gateways run already. */
export async function listen(
  server: Server,
  { host, port }: ServePlan,
  data: string,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, host, resolve);
  try {
    await promise;
  } catch (error) {
    const running = await runningGateways(data);
    // The address that a name such as `localhost` has led to.
    const { address = host } = error as { address?: string };
    const isOurs = running.some(({ listens = "" }) => isAt(listens, address, port));
    throw explain(error as NodeJS.ErrnoException, `${host}:${port}`, isOurs);
  }
}

const ALL_ADDRESSES = ["0.0.0.0", "::"];

/** Whether one that listens at a URL takes the port of an address. Each address has ports of its own. */
function isAt(listens: string, host: string, port: number): boolean {
  // `URL` leaves out the usual ports.
  const [, there = "", its] = /^https?:\/\/\[?(.*?)\]?:(\d+)$/.exec(listens) ?? [];
  if (Number(its) !== port) return false;
  return there === host || ALL_ADDRESSES.includes(there) || ALL_ADDRESSES.includes(host);
}

function explain(error: NodeJS.ErrnoException, where: string, isOurs: boolean): TrunklineError {
  const who = isOurs
    ? "a gateway of this data folder does already, which `trunkline open` opens"
    : "another program listens there";
  const why =
    error.code === "EADDRINUSE"
      ? `${who}. Stop it, or choose another port with --port (0 picks a free one).`
      : error.code === "EACCES"
        ? "ports below 1024 need special rights. Choose another with --port."
        : error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND"
          ? "this machine has no such address. Use 0.0.0.0 to listen on all of its addresses."
          : error.message;
  return new TrunklineError("unavailable", `Cannot listen on ${where}: ${why}`, { cause: error });
}

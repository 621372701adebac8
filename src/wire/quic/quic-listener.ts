import { background } from "../../base/background.ts";
import { formatAddress } from "./address.ts";
import { AdmittedConnections } from "./admitted-connections.ts";
import {
  BUS_ALPN,
  type Listener,
  type ListenOptions,
  resolveConnectionLimits,
} from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";
import type { EngineSession, ListenerEvents, QuicConnection, QuicEngine } from "./quic-engine.ts";
import type { EndReason } from "./settings.ts";

const FIRST_WAIT = 50;
const LONGEST_WAIT = 5_000;
/** Milliseconds: an engine that ran longer did not crash because of its first commands. */
const STEADY = 10_000;

/** Accepts connections at an address, and listens again if the engine crashes. */
export async function openQuicListener(
  host: string,
  wanted: number,
  options: ListenOptions,
  engine: QuicEngine,
): Promise<Listener> {
  const limits = resolveConnectionLimits(options.limits);
  const connections = new AdmittedConnections<QuicConnection>(options, limits);
  let port = wanted;
  let { credentials } = options;
  let session: EngineSession | undefined;
  let id = 0;
  let listening = newPromise();
  let hasListened = false;
  let renewing: PromiseWithResolvers<void> | undefined;
  const over = Promise.withResolvers<void>();
  let isClosing = false;
  let failures = 0;
  let listeningSince = 0;
  let retry: NodeJS.Timeout | undefined;
  const address = (): string => formatAddress({ scheme: "quic", host, port });
  const trouble = (what: string, ending: EndReason): ConnectionError =>
    ConnectionError.of(`Cannot ${what} ${address()}`, ending);
  const refused = (ending: EndReason): void =>
    options.refused?.(trouble("let a client in at", ending));
  const closed = (ending: EndReason): void => {
    const error = trouble("listen on", ending);
    session = undefined;
    renewing?.reject(error);
    renewing = undefined;
    listening.reject(error);
    if (isClosing || !hasListened) {
      connections.stop();
      over.resolve();
      return;
    }
    options.lost?.(error);
    again();
  };
  /** The address was lost with the engine, and is taken again. */
  const again = (): void => {
    if (performance.now() - listeningSince > STEADY) failures = 0;
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1));
    // At once the first time: until the address is taken again, clients are not told anything.
    const delay = failures === 0 ? 0 : wait;
    failures += 1;
    listening = newPromise();
    retry = setTimeout(() => {
      listen().catch(() => {});
    }, delay);
  };
  const listen = async (): Promise<void> => {
    try {
      const { alpn = BUS_ALPN, clientCertificate = "require" } = options;
      const tls = { ...credentials, alpn };
      const settings = { ...limits, host, port, tls, clientCertificate };
      [session, id] = await engine.listen(settings, events);
    } catch (error) {
      closed({ trouble: "engine", detail: (error as Error).message });
      throw error;
    }
    if (isClosing) session.sendClose(id, 0, "");
    await listening.promise;
  };
  const events: ListenerEvents = {
    limits,
    get address() {
      return address();
    },
    listening(given) {
      port = given;
      hasListened = true;
      listeningSince = performance.now();
      listening.resolve();
    },
    renewed(problem) {
      if (problem === undefined) renewing?.resolve();
      else renewing?.reject(trouble("renew the certificates of", problem));
      renewing = undefined;
    },
    connected(connection) {
      const detail = connections.problemWith(connection);
      if (detail !== undefined) {
        refused({ trouble: "full", detail });
        background(connection.close(0, "too many connections"), "Closing a connection");
        return;
      }
      connections.add(connection);
      options.connected?.(connection);
    },
    stream: (stream, connection) => options.stream(stream, connection),
    refused,
    closed,
  };
  await listen();
  return {
    get port() {
      return port;
    },
    get address() {
      return address();
    },
    async renew(renewed) {
      await listening.promise;
      await renewing?.promise.catch(() => {});
      renewing = newPromise();
      session?.renew(id, { ...renewed, alpn: options.alpn ?? BUS_ALPN });
      await renewing.promise;
      // Needed if it has to listen again.
      credentials = renewed;
    },
    async [Symbol.asyncDispose]() {
      if (!isClosing) {
        isClosing = true;
        clearTimeout(retry);
        // The last answers may still be in flight.
        await connections.close();
        // While it waits to listen anew there is nothing to close.
        if (session === undefined) over.resolve();
        session?.sendClose(id, 0, "");
      }
      await over.promise;
    },
  };
}

/** A promise whose rejection may stay unhandled. */
function newPromise(): PromiseWithResolvers<void> {
  const promise = Promise.withResolvers<void>();
  promise.promise.catch(() => {});
  return promise;
}

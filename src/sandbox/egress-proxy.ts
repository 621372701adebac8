import { lookup } from "node:dns/promises";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, isIP, type Server as Listener, type Socket } from "node:net";
import type { Duplex } from "node:stream";

import { hostText, normalHost, normalPath } from "../base/address.ts";
import { endpointFits } from "../base/host-pattern.ts";
import { isPrivateAddress } from "../base/private-address.ts";
import { glob } from "../base/text/glob.ts";

export interface EgressOptions {
  /** Hosts that may be reached: `*.example.com` for all subdomains, `*` for all, `HOST:PORT` for one port. */
  readonly allowHosts: readonly string[];
  /** Whether names may resolve to addresses of this machine and its network. */
  readonly allowPrivate?: boolean;
  /** Asked about other hosts. */
  readonly permit?: (host: string) => Promise<boolean>;
  /** Which addresses are refused; private ones by default. */
  readonly forbids?: (address: string) => boolean;
  /** Services that programs reach under a path of the proxy, which adds the credentials. */
  readonly services?: Readonly<Record<string, EgressService>>;
  /** The setting that would allow a host, for the message of a refusal. */
  readonly setting: string;
  /** Called for each connection that is refused. */
  readonly refused?: (host: string, why: string) => void;
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** A server whose key programs in a sandbox must not have. */
export interface EgressService {
  readonly origin: string;
  /** What may be called below it: `POST /messages`; `*` stands for any text. */
  readonly allows: readonly string[];
  /** What a program has to send in place of the key, where others can reach the proxy. */
  readonly pass?: string | undefined;
  /** Headers with the key, fetched for each request; they replace the program's own. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
}

/** The prefix of paths that lead to a service: `/service/NAME/…`. */
export const SERVICE_PATH = "/service/";

/** Hop-by-hop headers (RFC 9110, 7.6.1) and proxy headers. */
const HOP =
  /^(?:connection|keep-alive|proxy-(?:authenticate|authorization|connection)|te|trailer|transfer-encoding|upgrade)$/;
/** Headers that carry keys: a program in a sandbox has no key of its own for a service. */
const KEYS = new Set(["authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"]);

const CONNECT_TIMEOUT = 10_000;

/** A refused connection, with a message for the program that requested it. */
class Refusal extends Error {}

/**
 * The only network access of a sandbox: an HTTP proxy that connects to allowed hosts only. It resolves
 * names itself and connects to the address that it checked, so that a second lookup cannot return
 * another address (DNS rebinding).
 */
export class EgressProxy implements Disposable {
  readonly #options: EgressOptions;
  readonly #server: Server;
  readonly #listeners = new Set<Listener>();
  readonly #sockets = new Set<Duplex>();

  constructor(options: EgressOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#forward(request, response).catch((error: unknown) => refuse(response, error));
    });
    this.#server.on("connect", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#own(socket);
      this.#tunnel(request, socket, head).catch((error: unknown) => {
        const { status, message } = answerTo(error);
        socket.end(`HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\n\r\n${message}\n`);
      });
    });
  }

  /** Serves a listener, which may be in another network namespace. It is closed with the proxy. */
  serve(listener: Listener): void {
    this.#listeners.add(listener);
    listener.on("connection", (socket: Socket) => {
      this.#own(socket);
      this.#server.emit("connection", socket);
    });
    listener.on("close", () => this.#listeners.delete(listener));
  }

  [Symbol.dispose](): void {
    for (const listener of this.#listeners) listener.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #own(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
  }

  async #tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const [, name = "", digits] = /^(.+):(\d{1,5})$/.exec(request.url ?? "") ?? [];
    const host = normalHost(name);
    const port = Number(digits);
    if (host === undefined || !(port > 0 && port < 65_536)) {
      throw new Refusal("CONNECT needs HOST:PORT");
    }
    const address = await this.#addressOf(host, port);
    const outside = connect({ host: address, port, timeout: CONNECT_TIMEOUT });
    this.#own(outside);
    outside.once("timeout", () => outside.destroy(new Error("it does not answer")));
    await once(outside, "connect");
    outside.setTimeout(0);
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    outside.write(head);
    // It came from a listener of sockets, see `serve`.
    joinSockets(socket as Socket, outside);
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method } = request;
    const url = pathOnly(request);
    const headers = withoutHop(request);
    const service = this.#serviceOf(url, method);
    if (service !== undefined) {
      const isTheirs = Array.from(KEYS, (name) => String(headers[name]).replace(/^Bearer /i, ""));
      if (service.pass !== undefined && !isTheirs.includes(service.pass)) {
        throw new Refusal("Its services are for the programs of one run");
      }
      for (const name of KEYS) delete headers[name];
      Object.assign(headers, await service.headers(), { host: service.target.host });
      const ask = service.target.protocol === "https:" ? httpsRequest : httpRequest;
      return pass(request, response, ask(service.target, { method, headers }));
    }
    const target = URL.parse(url);
    const name = normalHost(target?.hostname ?? "");
    if (target?.protocol !== "http:" || name === undefined) {
      throw new Refusal("This is a proxy: it supports CONNECT, and http:// URLs");
    }
    const port = target.port === "" ? 80 : Number(target.port);
    const host = await this.#addressOf(name, port);
    const path = `${target.pathname}${target.search}`;
    headers.host = hostText({ host: name, port: port === 80 ? undefined : port });
    return pass(request, response, httpRequest({ host, port, path, method, headers }));
  }

  /** The target of a service path: one of those that the service allows, below its origin. */
  #serviceOf(
    url: string,
    method: string | undefined,
  ): (Pick<EgressService, "pass" | "headers"> & { readonly target: URL }) | undefined {
    if (!url.startsWith(SERVICE_PATH)) return undefined;
    const [, name = "", given = "", query = ""] =
      /^([^/?#]*)([^?]*)(.*)$/s.exec(url.slice(SERVICE_PATH.length)) ?? [];
    const { services = {}, setting } = this.#options;
    const service = Object.hasOwn(services, name) ? services[name] : undefined;
    if (service === undefined) throw new Refusal(`There is no service '${name}': see ${setting}`);
    const target = new URL(service.origin);
    const base = target.pathname.replace(/\/+$/, "");
    // Some programs expect the version in the address that they are given, others add it.
    const [version = ""] = /\/v\d\w*$/.exec(base) ?? [];
    const isTwice = version !== "" && given.startsWith(`${version}/`);
    const path = normalPath(isTwice ? given.slice(version.length) : given);
    const call = `${method} ${path}`;
    if (path === undefined || !service.allows.some((pattern) => glob(pattern)(call))) {
      const what = `'${method} ${given}' is not among the calls of the service '${name}'`;
      throw this.#refuse(name, `${what}: ${service.allows.join(", ")}`);
    }
    target.pathname = base + path;
    target.search = query;
    return { ...service, target };
  }

  /** Resolves a host. Throws if it may not be reached. */
  async #addressOf(host: string, port: number): Promise<string> {
    const { allowHosts, allowPrivate = false, setting, resolve = addressesOf } = this.#options;
    const { permit, forbids = isPrivateAddress } = this.#options;
    const isListed = allowHosts.some((pattern) => endpointFits(pattern, host, port));
    // Before the name is resolved: a DNS query can already leak data.
    if (!isListed && (await permit?.(host)) !== true) {
      throw this.#refuse(host, `'${host}' is not among the hosts that ${setting} allows`);
    }
    const addresses = isIP(host) === 0 ? await resolve(host) : [host];
    const [address] = addresses;
    if (address === undefined) throw new Error(`'${host}' has no address`);
    const inside = allowPrivate ? undefined : addresses.find(forbids);
    if (inside === undefined) return address;
    throw this.#refuse(host, `'${host}' resolves to ${inside}, which may not be reached`);
  }

  #refuse(host: string, why: string): Refusal {
    this.#options.refused?.(host, why);
    return new Refusal(why);
  }
}

/** Passes on what comes from each of two connections to the other, and ends both together. */
export function joinSockets(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("error", () => to.destroy());
    // Data for a slow reader may still be buffered.
    from.on("close", () => to.destroySoon());
    from.pipe(to);
  }
}

function pass(
  request: IncomingMessage,
  response: ServerResponse,
  outgoing: ReturnType<typeof httpRequest>,
): void {
  outgoing.on("response", (incoming) => {
    response.writeHead(incoming.statusCode ?? 502, withoutHop(incoming));
    incoming.pipe(response);
    incoming.on("error", () => response.destroy());
  });
  outgoing.on("error", (error) => refuse(response, error));
  response.on("close", () => outgoing.destroy());
  request.pipe(outgoing);
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, message } = answerTo(error);
  response.writeHead(Number(status.slice(0, 3)), { "content-type": "text/plain" });
  response.end(`${message}\n`);
}

function answerTo(error: unknown): { status: string; message: string } {
  const why = error instanceof Error ? error.message : String(error);
  return error instanceof Refusal
    ? { status: "403 Forbidden", message: `Trunkline refuses this connection: ${why}.` }
    : { status: "502 Bad Gateway", message: `Trunkline cannot make this connection: ${why}.` };
}

function withoutHop({ headers }: IncomingMessage): OutgoingHttpHeaders {
  const names = (headers.connection ?? "").toLowerCase().split(",");
  const listed = new Set(names.map((name) => name.trim()));
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP.test(name) && !listed.has(name)),
  );
}

/** A program may request the proxy's own address through the proxy, as for any other server. */
function pathOnly({ url = "", socket }: IncomingMessage): string {
  const own = `http://127.0.0.1:${socket.localPort}/`;
  return url.startsWith(own) ? url.slice(own.length - 1) : url;
}

async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

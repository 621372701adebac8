import { normalHost } from "../base/address.ts";
import { type RemoteUrl, USUAL_PORTS } from "../base/remote-url.ts";

/** A place that a URL leads to. */
export type UrlHost = Pick<RemoteUrl, "transport" | "host" | "port">;

/**
 * How an identity's host fits a URL. "exact": it is the same server, so a token may go there.
 * "name": only the name is the same, because the identity has no port and the URL has one.
 */
export type HostFit = "exact" | "name";

/**
 * Compares the host of an identity, such as `git.corp:8443`, with that of a URL. Its port is that of
 * the web server. ssh listens on another one, so for ssh only the names count.
 */
export function hostFit(own: string | undefined, url: UrlHost): HostFit | undefined {
  if (own === undefined || url.host === undefined) return undefined;
  const { name, port } = splitHost(own);
  if (name !== splitHost(url.host).name) return undefined;
  const usual = USUAL_PORTS[url.transport];
  if (url.transport === "ssh" || (port ?? usual) === (url.port ?? usual)) return "exact";
  return port === undefined ? "name" : undefined;
}

/** `git.corp:8443`, `[::1]:8443` or an address without brackets, in its parts. */
export function splitHost(text: string): {
  readonly name: string;
  readonly port: number | undefined;
} {
  const [, given = `[${text}]`, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(text) ?? [];
  const name = normalHost(given) ?? text.toLowerCase();
  return { name, port: port === undefined ? undefined : Number(port) };
}

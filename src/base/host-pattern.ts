import { normalHost } from "./address.ts";

/** Whether a host is one of a pattern: itself, `*.example.com` for all subdomains, `*` for all hosts. */
export function hostFits(pattern: string, host: string): boolean {
  const found = normalHost(host);
  if (found === undefined || pattern === "*") return found !== undefined;
  const wanted = normalHost(pattern.replace(/^\*\./, ""));
  if (wanted === undefined) return false;
  return pattern.startsWith("*.") ? found.endsWith(`.${wanted}`) : found === wanted;
}

export interface Endpoint {
  /** A name, an address, or a pattern as above. */
  readonly host: string;
  /** Any port if it is undefined. */
  readonly port: number | undefined;
}

const HOST = /^(?:\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/i;

/** Reads `api.example.org`, `*.example.com`, `db.example.org:5432`, `[2001:db8::1]:443`; else undefined. */
export function readEndpoint(text: string): Endpoint | undefined {
  const [, host = "", digits] = /^(.*?)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (!HOST.test(host) || port === 0 || (port ?? 1) > 65_535) return undefined;
  return { host: host.replace(/^\[(.*)\]$/, "$1").toLowerCase(), port };
}

/** Whether a port of a host is one of a pattern, which may name a port. */
export function endpointFits(pattern: string, host: string, port: number): boolean {
  if (hostFits(pattern, host)) return true;
  const wanted = readEndpoint(pattern);
  return wanted !== undefined && (wanted.port ?? port) === port && hostFits(wanted.host, host);
}

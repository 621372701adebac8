import { createServer } from "node:net";

import type { Config } from "../../../config/config.ts";
import type { Finding } from "../finding.ts";
import type { Allowance } from "../run-checks.ts";

const what = "Port";
/** The part of a check's time in which an answer is awaited: then there is time to say that none came. */
const SHARE = 0.8;

/** Whether `trunkline serve` can listen on its port, or does already. */
export async function checkPort(
  config: Pick<Config, "server" | "serve">,
  { patience, signal }: Allowance,
): Promise<Finding> {
  const { host, port } = config.server;
  if (port === 0) return { state: "ok", what, says: "each start picks a free one" };
  const where = `${host}:${port}`;
  const problem = await tryToListen(host, port);
  if (problem === undefined) return { state: "ok", what, says: `${where} is free` };
  if (problem !== "EADDRINUSE") {
    const next = "Set `server.host` and `server.port` to an address of this machine.";
    return { state: "fail", what, says: `cannot listen on ${where}: ${problem}`, next };
  }
  const late = AbortSignal.timeout(Math.round(patience * SHARE));
  const enough = AbortSignal.any([signal, late]);
  const name = await nameAt(host, port, config.serve.tls === undefined ? "http" : "https", enough);
  if (name !== undefined) return { state: "ok", what, says: `${name} is running on ${where}` };
  const next = "Stop that program, or set another `server.port`.";
  const who = late.aborted ? "a program that does not answer" : "another program";
  return { state: "fail", what, says: `${who} listens on ${where}`, next };
}

function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** What answers a health check there. A gateway that other machines can reach hides its version. */
async function nameAt(
  host: string,
  port: number,
  scheme: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const authority = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  try {
    const response = await fetch(`${scheme}://${authority}/healthz`, { signal });
    const health = (await response.json()) as { status?: unknown; version?: unknown };
    if (health.status !== "ok") return undefined;
    return typeof health.version === "string" ? `Trunkline ${health.version}` : "a gateway";
  } catch (error) {
    const { code = "" } = ((error as Error).cause ?? {}) as { readonly code?: string };
    // Its certificate is for another name, or this machine does not trust it.
    return scheme === "https" && /CERT|ALTNAME|LEAF/.test(code) ? "a server with TLS" : undefined;
  }
}

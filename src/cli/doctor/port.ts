import { createServer } from "node:net";

import type { Finding } from "./finding.ts";

const what = "Port";
const PATIENCE = 2_000;

/** Whether `trunkline serve` could listen where it is configured to, or does already. */
export async function checkPort(server: {
  readonly host: string;
  readonly port: number;
}): Promise<Finding> {
  const { host, port } = server;
  if (port === 0) return { state: "ok", what, says: "a free one is picked at each start" };
  const where = `${host}:${port}`;
  const problem = await tryToListen(host, port);
  if (problem === undefined) return { state: "ok", what, says: `${where} is free` };
  if (problem !== "EADDRINUSE") {
    const next = "Set `server.host` and `server.port` to where this machine can listen.";
    return { state: "fail", what, says: `cannot listen on ${where}: ${problem}`, next };
  }
  const version = await versionAt(host, port);
  if (version !== undefined) {
    return { state: "ok", what, says: `Trunkline ${version} is running on ${where}` };
  }
  const next = "Stop it, or set another `server.port`.";
  return { state: "fail", what, says: `another program listens on ${where}`, next };
}

function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

async function versionAt(host: string, port: number): Promise<string | undefined> {
  const authority = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const response = await fetch(`http://${authority}/healthz`, { signal });
    const health = (await response.json()) as { status?: unknown; version?: unknown };
    return health.status === "ok" && typeof health.version === "string"
      ? health.version
      : undefined;
  } catch {
    return undefined;
  }
}

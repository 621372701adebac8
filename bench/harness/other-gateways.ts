import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sample, Skipped, Variant } from "./bench.ts";
import { type HttpCalls, measureHttp, MCP_CALLS, post, reach, type Reach } from "./http-load.ts";
import { Program } from "./program.ts";
import { installReferencePackages } from "./reference-packages.ts";

const UPSTREAM = join(import.meta.dirname, "../servers/mcp-upstream.mjs");
const PACKAGES = join(import.meta.dirname, "../gateways/node_modules");
/** Milliseconds for a gateway to start, with the server behind it. */
const START = 30_000;
const HUB_PATH = "/api/servers/tools";

/** A gateway of npm, which offers a server on stdio over HTTP. */
interface Gateway {
  readonly name: string;
  readonly args: (port: number, folder: string) => string[];
  readonly calls: HttpCalls;
}

const GATEWAYS: readonly Gateway[] = [
  {
    name: "mcp-proxy 6.7.19",
    args: (port) => [
      join(PACKAGES, "mcp-proxy/dist/bin/mcp-proxy.mjs"),
      ...["--port", String(port), "--host", "127.0.0.1", "--", process.execPath, UPSTREAM],
    ],
    calls: MCP_CALLS,
  },
  {
    name: "supergateway 4.0.0",
    args: (port) => [
      join(PACKAGES, "supergateway/dist/index.js"),
      ...["--stdio", `"${process.execPath}" "${UPSTREAM}"`, "--port", String(port)],
      ...["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none"],
    ],
    calls: MCP_CALLS,
  },
  {
    name: "mcp-hub 4.2.1",
    args: (port, folder) => {
      const config = join(folder, "hub.json");
      const echo = { command: process.execPath, args: [UPSTREAM] };
      writeFileSync(config, JSON.stringify({ mcpServers: { echo } }));
      return [join(PACKAGES, "mcp-hub/dist/cli.js"), "--port", String(port), "--config", config];
    },
    // It takes no POST of MCP: its clients use an older transport, or these calls of its own.
    calls: {
      open: async (at) => {
        const { status, text } = await post(at, HUB_PATH, hubCall(0));
        if (status !== 200) throw new Error(`The first call was answered with ${status} ${text}`);
        return {};
      },
      path: HUB_PATH,
      body: hubCall,
      echoed: (text) => {
        const { result } = JSON.parse(text) as {
          readonly result?: { readonly content: readonly [{ readonly text: string }] };
        };
        return result?.content[0].text;
      },
    },
  },
];

function hubCall(id: number): object {
  return { server_name: "echo", tool: "echo", arguments: { text: `hello ${id}` } };
}

/** Gateways that a user might choose instead, from HTTP to a server on stdio, as far as they work here. */
export async function otherGateways(
  offline: boolean,
  calls: number,
): Promise<{ readonly variants: readonly Variant[]; readonly skipped: readonly Skipped[] }> {
  const missing = installReferencePackages(offline, "gateways");
  const variants: Variant[] = [];
  const skipped: Skipped[] = [];
  for (const gateway of GATEWAYS) {
    const { name } = gateway;
    const reason = missing ?? (await problemOf(gateway));
    if (reason !== undefined) skipped.push({ name, reason });
    else variants.push({ name, measure: () => measureGateway(gateway, calls) });
  }
  return { variants, skipped };
}

/** Why a gateway cannot be measured here. */
async function problemOf(gateway: Gateway): Promise<string | undefined> {
  try {
    await measureGateway(gateway, 1);
    return undefined;
  } catch (error) {
    const [why] = String(error instanceof Error ? error.message : error).split("\n");
    return `it does not work here: ${why}`;
  }
}

async function measureGateway({ args, calls }: Gateway, count: number): Promise<Sample> {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
  try {
    const port = await freePort();
    // Settings and caches of the user who runs the bench are no part of it.
    const env = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
    await using program = new Program(args(port, folder), { cwd: folder, env });
    program.stdout.resume();
    const at = reach(port, "none");
    await program.until(started(at, calls));
    return await measureHttp(program, at, calls, count);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits until a gateway and the server behind it answer. */
async function started(at: Reach, calls: HttpCalls): Promise<void> {
  const end = performance.now() + START;
  for (;;) {
    try {
      await calls.open(at);
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(100);
    }
  }
}

/** They cannot choose a port themselves and tell it. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

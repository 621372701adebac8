// Counts the files and functions of src/ that one `tools/call` of another server's tool meets on its
// way through `trunkline serve`, over /mcp: what somebody has to read who wants to understand a call.
// `node scripts/call-path.ts` prints them; `--list` also names them.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";

import { ServedGateway } from "../test/support/served-gateway.ts";

const ROOT = join(import.meta.dirname, "..");
const SOURCE = pathToFileURL(join(ROOT, "src")).href;
const SERVER = join(ROOT, "test/support/echo-server.mjs");
const REVISION = "2025-11-25";

/** The functions of each file, by its path. A function without a name is named for its place. */
export type CallPath = ReadonlyMap<string, readonly string[]>;

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly [
        { readonly startOffset: number; readonly count: number },
        ...unknown[],
      ];
    }[];
  }[];
}

/**
 * Runs the program from its source, and takes by V8's precise coverage what the second call meets, and
 * each that follows: timers run beside one or another.
 */
export async function measureCallPath(): Promise<CallPath> {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-call-path-"));
  try {
    const config = join(folder, "config.jsonc");
    const echo = { command: process.execPath, args: [SERVER, "echo", "/dev/null"] };
    writeFileSync(config, JSON.stringify({ mcpServers: { echo } }));
    await using gateway = await ServedGateway.start(
      ["--config", config, "--data", join(folder, "data")],
      { built: join(ROOT, "src/cli/main.ts"), nodeArgs: ["--inspect=127.0.0.1:0"] },
    );
    const [, address = ""] = /Debugger listening on (ws:\S+)/.exec(gateway.program.stderr) ?? [];
    await using inspector = await Inspector.open(address);
    await inspector.ask("Profiler.enable");
    await inspector.ask("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    const session = await openSession(gateway);
    await session.call("first");
    await inspector.settled();
    await inspector.ask("Profiler.takePreciseCoverage");
    const paths: CallPath[] = [];
    for (const message of ["second", "third", "fourth", "fifth", "sixth", "seventh"]) {
      await session.call(message);
      await inspector.settled();
      paths.push(pathOf((await inspector.ask("Profiler.takePreciseCoverage")) as Coverage));
    }
    return common(paths);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function common([first, ...others]: readonly CallPath[]): CallPath {
  const all = Array.from(first ?? [], ([file, functions]) => {
    const isMet = (name: string): boolean =>
      others.every((path) => path.get(file)?.includes(name) === true);
    return [file, functions.filter(isMet)] as const;
  });
  return new Map(all.filter(([, functions]) => functions.length > 0));
}

export function countFunctions(path: CallPath): number {
  return [...path.values()].reduce((count, functions) => count + functions.length, 0);
}

function pathOf({ result }: Coverage): CallPath {
  const path = new Map<string, readonly string[]>();
  for (const { url, functions } of result) {
    if (!url.startsWith(SOURCE)) continue;
    const called = functions.filter(({ ranges: [whole] }) => whole.count > 0);
    const names = called.map(
      ({ functionName, ranges: [whole] }) => functionName || `(at ${whole.startOffset})`,
    );
    if (names.length > 0) path.set(relative(ROOT, new URL(url).pathname), names);
  }
  return path;
}

interface McpSession {
  call(message: string): Promise<void>;
}

/** A client of the revision that most clients speak. */
async function openSession(gateway: ServedGateway): Promise<McpSession> {
  let id = 0;
  const headers: Record<string, string> = {
    ...gateway.headers,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const post = async (method: string, params: object, isRequest = true): Promise<Response> => {
    const named = isRequest ? { id: ++id } : {};
    const body = JSON.stringify({ jsonrpc: "2.0", ...named, method, params });
    return await fetch(gateway.ready.mcp, { method: "POST", headers, body });
  };
  const clientInfo = { name: "call-path", version: "1" };
  const hello = await post("initialize", {
    ...{ protocolVersion: REVISION, capabilities: {}, clientInfo },
  });
  await hello.text();
  headers["mcp-session-id"] = hello.headers.get("mcp-session-id") ?? "";
  headers["mcp-protocol-version"] = REVISION;
  await (await post("notifications/initialized", {}, false)).text();
  await (await post("tools/list", {})).text();
  return {
    call: async (message) => {
      const params = { name: "echo_do", arguments: { message } };
      const answer = await (await post("tools/call", params)).text();
      if (!answer.includes(message)) throw new Error(`The call failed: ${answer}`);
    },
  };
}

/** A client of V8's inspector. */
class Inspector implements AsyncDisposable {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
      if (id !== undefined) this.#pending.get(id)?.resolve(result);
    });
  }

  static async open(address: string): Promise<Inspector> {
    const socket = new WebSocket(address);
    await once(socket, "open");
    return new Inspector(socket);
  }

  ask(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<unknown>();
    this.#pending.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return answer.promise;
  }

  /** Waits until the program has ended what it does behind an answer, such as to count it. */
  async settled(): Promise<void> {
    const turns =
      "(async () => { for (let i = 0; i < 20; i++) await new Promise(setImmediate) })()";
    await this.ask("Runtime.evaluate", { expression: turns, awaitPromise: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#socket, "close");
    this.#socket.close();
    await closed;
  }
}

async function printCallPath(): Promise<void> {
  const path = await measureCallPath();
  if (process.argv.includes("--list")) {
    for (const [file, functions] of [...path].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      console.log(`${file}: ${functions.join(", ")}`);
    }
  }
  console.log(`${path.size} files, ${countFunctions(path)} functions`);
}

if (import.meta.main) void printCallPath();

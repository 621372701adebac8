import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";

const BARE = "bare node:http";
const DOOR = "trunkline, /mcp";
const RECORD = "trunkline, 2025-11-25, on record";
const RELAY = "bare relay to a server";
const HOP = "trunkline, 2025-11-25, server behind it";
const AT_ONCE = 32;
const WARM_UP = 2_000;

/** tools/call, one POST each, over keep-alive connections: of 2026-07-28, and in a session of 2025-11-25. */
export const mcpHttp: Bench = {
  name: "mcp-http",
  plan: async ({ quick }) => {
    const calls = quick ? 4_000 : 20_000;
    return {
      describe: `tools/call over HTTP, ${calls} POSTs, ${AT_ONCE} at once`,
      rounds: quick ? 3 : 7,
      quantities: [
        { key: "cpu", label: "CPU", unit: "µs", digits: 0 },
        { key: "wall", label: "wall", unit: "µs", digits: 0 },
      ],
      variants: [
        { name: BARE, measure: () => measure(["bench/servers/http-bare.mjs"], calls, MODERN) },
        { name: DOOR, measure: () => measure([TRUNKLINE], calls, MODERN) },
        { name: RECORD, measure: () => measure([TRUNKLINE, "record"], calls, LEGACY) },
        {
          name: RELAY,
          measure: () => measure(["bench/servers/http-relay-bare.mjs"], calls, LEGACY),
        },
        { name: HOP, measure: () => measure([TRUNKLINE, "hop"], calls, LEGACY) },
      ],
      comparisons: [
        { quantity: "cpu", of: DOOR, against: BARE, atMost: 2 },
        { quantity: "cpu", of: RECORD, against: BARE, atMost: 2 },
        { quantity: "cpu", of: HOP, against: RELAY, atMost: 1.7 },
      ],
    };
  },
};

async function measure(
  server: readonly string[],
  calls: number,
  revision: Revision,
): Promise<Sample> {
  await using program = new Program(server, { more: ["ipc"] });
  const { port, token = NO_TOKEN } = reachOf(await program.nextMessage());
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  // All get the same headers, though not every program checks them.
  const first: Reach = { port, agent, headers: { ...HEADERS, authorization: `Bearer ${token}` } };
  const reach = { ...first, headers: { ...first.headers, ...(await revision.open(first)) } };
  let lastId = 0;
  const run = async (count: number): Promise<void> => {
    const end = lastId + count;
    const one = async (): Promise<void> => {
      while (lastId < end) await call(reach, revision.more, ++lastId);
    };
    await program.until(Promise.all(Array.from({ length: AT_ONCE }, one)));
  };
  await run(WARM_UP);
  const [cpu, wall] = [cpuTime(program.pid), performance.now()];
  await run(calls);
  const sample = {
    cpu: (cpuTime(program.pid) - cpu) / calls,
    wall: ((performance.now() - wall) * 1000) / calls,
  };
  agent.destroy();
  await program.finish();
  return sample;
}

const TRUNKLINE = "bench/servers/http-trunkline.ts";
const NO_TOKEN = `tlk_${"x".repeat(43)}`;
const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** How a revision begins a conversation, and what its calls say beside their arguments. */
interface Revision {
  /** Returns the headers of all further requests. */
  readonly open: (reach: Reach) => Promise<Readonly<Record<string, string>>>;
  readonly more: object;
}

const MODERN: Revision = {
  open: async () => ({
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "echo",
  }),
  more: {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
};

const LEGACY: Revision = {
  open: async (reach) => {
    const { headers } = await post(reach, { id: 0, method: "initialize", params: INITIALIZE });
    const version = { "mcp-protocol-version": INITIALIZE.protocolVersion };
    const session = headers["mcp-session-id"];
    return typeof session === "string" ? { ...version, "mcp-session-id": session } : version;
  },
  more: {},
};

/** The address of a server, and the headers that it requires. */
interface Reach {
  readonly port: number;
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string>>;
}

function reachOf(message: unknown): { readonly port: number; readonly token?: string } {
  return typeof message === "number" ? { port: message } : (message as { port: number });
}

async function call(reach: Reach, more: object, id: number): Promise<void> {
  const params = { name: "echo", arguments: { text: `hello ${id}` }, ...more };
  const { status, text } = await post(reach, { id, method: "tools/call", params });
  if (!isRight(text, id)) throw new Error(`Call ${id} was answered with ${status} ${text}`);
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function post({ port, agent, headers }: Reach, message: object): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  return new Promise((resolve, reject) => {
    const all = { ...headers, "content-length": Buffer.byteLength(body) };
    const options = { host: "127.0.0.1", port, path: "/mcp", method: "POST", agent, headers: all };
    const sent = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      const { statusCode: status } = response;
      response.on("end", () => resolve({ status, headers: response.headers, text }));
    });
    sent.on("error", reject).end(body);
  });
}

function isRight(text: string, id: number): boolean {
  const { id: answered, result } = JSON.parse(text) as {
    id: number;
    result?: { content: [{ text: string }] };
  };
  return answered === id && result?.content[0].text === `hello ${id}`;
}

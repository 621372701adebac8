import { Agent, request } from "node:http";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";

const BARE = "bare node:http";
const DOOR = "trunkline, /mcp";
const AT_ONCE = 32;
const WARM_UP = 2_000;

/** tools/call of 2026-07-28, one POST each, over keep-alive connections. */
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
        { name: BARE, measure: () => measure("bench/servers/http-bare.mjs", calls) },
        { name: DOOR, measure: () => measure("bench/servers/http-trunkline.ts", calls) },
      ],
      comparisons: [{ quantity: "cpu", of: DOOR, against: BARE, atMost: 2 }],
    };
  },
};

async function measure(server: string, calls: number): Promise<Sample> {
  await using program = new Program([server], { more: ["ipc"] });
  const { port, token } = reachOf(await program.nextMessage());
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  let lastId = 0;
  const run = async (count: number): Promise<void> => {
    const end = lastId + count;
    const one = async (): Promise<void> => {
      while (lastId < end) await call({ port, token }, agent, ++lastId);
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

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "echo",
};

const NO_TOKEN = `tlk_${"x".repeat(43)}`;

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** The address of a server, and the token that it requires. */
interface Reach {
  readonly port: number;
  readonly token?: string | undefined;
}

function reachOf(message: unknown): Reach {
  return typeof message === "number" ? { port: message } : (message as Reach);
}

function call({ port, token }: Reach, agent: Agent, id: number): Promise<void> {
  const params = { name: "echo", arguments: { text: `hello ${id}` }, _meta: META };
  const body = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
  return new Promise((resolve, reject) => {
    // Both get the same headers, though only one checks them.
    const authorization = `Bearer ${token ?? NO_TOKEN}`;
    const headers = { ...HEADERS, authorization, "content-length": Buffer.byteLength(body) };
    const options = { host: "127.0.0.1", port, path: "/mcp", method: "POST", agent, headers };
    const post = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        if (isRight(text, id)) resolve();
        else reject(new Error(`Call ${id} was answered with ${response.statusCode} ${text}`));
      });
    });
    post.on("error", reject).end(body);
  });
}

function isRight(text: string, id: number): boolean {
  const { id: answered, result } = JSON.parse(text) as {
    id: number;
    result?: { content: [{ text: string }] };
  };
  return answered === id && result?.content[0].text === `hello ${id}`;
}

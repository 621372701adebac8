import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { INITIALIZE } from "../echo-call.ts";
import type { Sample } from "./bench.ts";
import { cpuTime } from "./cpu-time.ts";
import type { Program } from "./program.ts";

const AT_ONCE = 32;

/** The address of a server, and the headers that it requires. */
export interface Reach {
  readonly port: number;
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** How a server is called: what comes before its calls, a call of the tool `echo`, and its result. */
export interface HttpCalls {
  /** Returns the headers of all further requests. */
  readonly open: (reach: Reach) => Promise<Readonly<Record<string, string>>>;
  readonly path: string;
  readonly body: (id: number) => object;
  /** Undefined where the text is no answer to that call. */
  readonly echoed: (text: string, id: number) => string | undefined;
}

export function reach(port: number, token: string): Reach {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    // All get the same headers, though not every program checks them.
    authorization: `Bearer ${token}`,
  };
  return { port, agent, headers };
}

/** Measures so many calls, of which some are always waiting for their answer. */
export async function measureHttp(
  program: Program,
  at: Reach,
  calls: HttpCalls,
  count: number,
): Promise<Sample> {
  const opened = { ...at, headers: { ...at.headers, ...(await calls.open(at)) } };
  let lastId = 0;
  const one = async (id: number): Promise<void> => {
    const { status, text } = await post(opened, calls.path, calls.body(id));
    if (calls.echoed(text, id) === `hello ${id}`) return;
    throw new Error(`Call ${id} was answered with ${status} ${text}`);
  };
  const run = async (more: number): Promise<void> => {
    const end = lastId + more;
    const caller = async (): Promise<void> => {
      while (lastId < end) await one(++lastId);
    };
    await program.until(Promise.all(Array.from({ length: AT_ONCE }, caller)));
  };
  await run(count / 2);
  const [cpu, wall] = [cpuTime(program.pid), performance.now()];
  await run(count);
  const sample = {
    cpu: (cpuTime(program.pid) - cpu) / count,
    wall: ((performance.now() - wall) * 1000) / count,
  };
  at.agent.destroy();
  return sample;
}

const PATH = "/mcp";

/** In a session of 2025-11-25. */
export const MCP_CALLS: HttpCalls = {
  open: async (at) => {
    const first = { jsonrpc: "2.0", id: 0, method: "initialize", params: INITIALIZE };
    const { headers, status } = await post(at, PATH, first);
    if (status !== 200) throw new Error(`"initialize" was answered with ${status}`);
    const version = { "mcp-protocol-version": INITIALIZE.protocolVersion };
    const session = headers["mcp-session-id"];
    const more = typeof session === "string" ? { ...version, "mcp-session-id": session } : version;
    const ready = { jsonrpc: "2.0", method: "notifications/initialized" };
    await post({ ...at, headers: { ...at.headers, ...more } }, PATH, ready);
    return more;
  },
  path: PATH,
  body: callOf,
  echoed: echoedIn,
};

function callOf(id: number): object {
  const params = { name: "echo", arguments: { text: `hello ${id}` } };
  return { jsonrpc: "2.0", id, method: "tools/call", params };
}

/** The answer is JSON, or the last event of a stream. */
function echoedIn(text: string, id: number): string | undefined {
  const event = text.lastIndexOf("\ndata: ");
  const json = text.startsWith("{") ? text : text.slice(event + "\ndata: ".length);
  const { id: answered, result } = JSON.parse(json) as {
    readonly id: number;
    readonly result?: { readonly content: readonly [{ readonly text: string }] };
  };
  return answered === id ? result?.content[0].text : undefined;
}

export function post({ port, agent, headers }: Reach, path: string, body: object): Promise<Answer> {
  const sent = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const all = { ...headers, "content-length": Buffer.byteLength(sent) };
    const options = { host: "127.0.0.1", port, path, method: "POST", agent, headers: all };
    const asked = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      const { statusCode: status } = response;
      response.on("end", () => resolve({ status, headers: response.headers, text }));
    });
    asked.on("error", reject).end(sent);
  });
}

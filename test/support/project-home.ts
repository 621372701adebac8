import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { answerOf, type Body, BOTH_TYPES, EventReader } from "./mcp-http-server.ts";
import { Program } from "./program.ts";
import { runInProcess } from "./run-in-process.ts";
import { initRepository } from "./stored-folder.ts";

const MODERN = "2026-07-28";
const M = "io.modelcontextprotocol/";

interface Ready {
  readonly url: string;
  readonly tokenFile: string;
}

/** A home with one identity and repositories that it may be switched to. */
export class ProjectHome implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-project-")));
  readonly data = join(this.path, "data");
  readonly #config = join(this.path, "config.jsonc");

  constructor(config: object = {}) {
    const work = { provider: "github", user: "ada", email: "ada@acme.test" };
    writeFileSync(this.#config, JSON.stringify({ identities: { work }, ...config }));
  }

  get env(): Readonly<Record<string, string>> {
    return {
      TRUNKLINE_CONFIG: this.#config,
      TRUNKLINE_DATA: this.data,
      TRUNKLINE_TOKEN_STORE: "file",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
    };
  }

  /** A new repository, or only a folder. */
  folder(name: string, isRepository = true): string {
    const folder = join(this.path, name);
    mkdirSync(folder);
    if (isRepository) initRepository(folder);
    return folder;
  }

  /** The address that commits in a repository would be made with, as far as it says so itself. */
  emailOf(folder: string): string | undefined {
    const config = readFileSync(join(folder, ".git/config"), "utf8");
    return /email = "?([^"\n]+)"?/.exec(config)?.[1];
  }

  start(args: readonly string[], cwd: string): Program {
    return new Program(args, { env: this.env, cwd });
  }

  /** Runs a command to its end, and gives what it prints. */
  async run(args: readonly string[], cwd: string): Promise<string> {
    await using program = this.start(args, cwd);
    program.child.stdin.end();
    assert.equal(await program.exit, 0, program.stderr);
    return program.lines.join("\n");
  }

  /** The same in this process, for what only prepares a test. */
  async prepare(args: readonly string[], cwd: string): Promise<string> {
    const { PATH = "" } = process.env;
    const env = { PATH, HOME: this.path, ...this.env };
    const { code, out, err } = await runInProcess(args, { env, cwd });
    assert.equal(code, 0, err);
    return out;
  }

  /** Leaves a comment on a line of a new file, and gives the id of its thread. */
  async comment(folder: string, comment: string): Promise<string> {
    writeFileSync(join(folder, "a.txt"), "one\n");
    const args = ["--file", "a.txt", "--line=1", `--comment=${comment}`];
    const said = await this.prepare(["review", "add", ...args], folder);
    return /^Opened (\w+) /.exec(said)?.[1] ?? assert.fail(said);
  }

  serve(cwd: string): Promise<ProjectServer> {
    return ProjectServer.start(this.start(["serve", "--port", "0", "--json"], cwd));
  }

  /** What is on record of a tool's calls. */
  record(tool: string): Readonly<Record<string, unknown>>[] {
    const path = join(this.data, "audit/audit.ndjson");
    const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
    return lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((entry) => entry.tool === tool && entry.outcome !== undefined);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** `trunkline serve`, ended as Ctrl-C ends it. */
export class ProjectServer implements AsyncDisposable {
  readonly #program: Program;
  readonly #ready: Ready;
  readonly #token: string | undefined;

  private constructor(program: Program, ready: Ready, token?: string) {
    this.#program = program;
    this.#ready = ready;
    this.#token = token;
  }

  /** The same, as whoever has another token comes to it. It is not to be disposed of. */
  as(token: string): Pick<ProjectServer, "fetch" | "listen"> {
    return new ProjectServer(this.#program, this.#ready, token);
  }

  static async start(program: Program): Promise<ProjectServer> {
    const [ready] = await program.answers(1);
    return new ProjectServer(program, ready as unknown as Ready);
  }

  fetch(headers: Readonly<Record<string, string>>, body: object, path = "/mcp"): Promise<Response> {
    return fetch(`${this.#ready.url}${path}`, {
      method: "POST",
      headers: { ...BOTH_TYPES, ...this.#proof, ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    });
  }

  /** Opens a stream of events. */
  async listen(path: string): Promise<EventReader> {
    const headers = { accept: "text/event-stream", ...this.#proof };
    return new EventReader(await fetch(`${this.#ready.url}${path}`, { headers }));
  }

  get #proof(): Readonly<Record<string, string>> {
    const token = this.#token ?? readFileSync(this.#ready.tokenFile, "utf8").trim();
    return { authorization: `Bearer ${token}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#program.child.kill("SIGINT");
    assert.equal(await this.#program.exit, 0, this.#program.stderr);
    await this.#program[Symbol.asyncDispose]();
  }
}

/** A gateway as clients see it. */
export type Served = Pick<ProjectServer, "fetch" | "listen">;

/** What a client says of where it works: its folders, that it has none to say, or nothing for ever. */
export type Roots = readonly string[] | "unable" | "silent";

/** A client on HTTP, of one revision or another, that calls tools. */
export interface RootedClient {
  /** How often it was asked where it works. */
  readonly asked: number;
  call(tool: string, args?: object): Promise<string>;
  /** Waits until a tool is offered: its plugin may be being started. Each list waits for it a while. */
  untilOffered(tool: string): Promise<void>;
}

function hasTool({ result, error }: Body, tool: string): boolean {
  assert.equal(error, undefined);
  const tools = (result?.tools ?? []) as { name: string }[];
  return tools.some(({ name }) => name === tool);
}

type Params = Readonly<Record<string, unknown>> & { readonly name?: string };

function capabilitiesOf(roots: Roots): object {
  return roots === "unable" ? {} : { roots: { listChanged: true } };
}

function answerTo(roots: Roots): object {
  const folders = typeof roots === "string" ? [] : roots;
  return { roots: folders.map((folder) => ({ uri: pathToFileURL(folder).href })) };
}

function textOf({ result, error }: Body): string {
  return result?.content?.[0]?.text ?? error?.message ?? "";
}

/** A client that shakes hands, and is asked on the stream of its call. */
export class LegacyClient implements RootedClient {
  asked = 0;
  roots: Roots;
  readonly #server: Served;
  readonly #session: Readonly<Record<string, string>>;
  #lastId = 0;

  private constructor(server: Served, session: string, roots: Roots) {
    this.#server = server;
    this.#session = { "mcp-session-id": session };
    this.roots = roots;
  }

  static async begin(server: Served, roots: Roots): Promise<LegacyClient> {
    const response = await server.fetch(
      {},
      {
        id: 0,
        method: "initialize",
        params: {
          protocolVersion: "2025-11-25",
          capabilities: capabilitiesOf(roots),
          clientInfo: { name: "editor", version: "1" },
        },
      },
    );
    await response.text();
    const client = new LegacyClient(server, response.headers.get("mcp-session-id") ?? "", roots);
    await client.#tell({ method: "notifications/initialized" });
    return client;
  }

  /** Moves to other folders, and says so. */
  async move(...roots: string[]): Promise<void> {
    this.roots = roots;
    await this.#tell({ method: "notifications/roots/list_changed" });
  }

  async call(tool: string, args: object = {}): Promise<string> {
    const id = ++this.#lastId;
    const params = { name: tool, arguments: args };
    const response = await this.#server.fetch(this.#session, { id, method: "tools/call", params });
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    if (isJson) return textOf((await answerOf(response)).body);
    const events = new EventReader(response);
    for (;;) {
      const message = await events.message();
      if (message.method === undefined) return textOf(message);
      if (message.method !== "roots/list") continue;
      this.asked++;
      if (this.roots === "silent") continue;
      await this.#tell({ id: message.id, result: answerTo(this.roots) });
    }
  }

  async untilOffered(tool: string): Promise<void> {
    const list = { id: "list", method: "tools/list" };
    for (let isThere = false; !isThere;) {
      const response = await this.#server.fetch(this.#session, list);
      isThere = hasTool((await answerOf(response)).body, tool);
    }
  }

  async #tell(message: object): Promise<void> {
    const response = await this.#server.fetch(this.#session, message);
    assert.equal(response.status, 202, await response.text());
  }
}

/** A client of 2024-11-05, which has all answers and questions on one stream. */
export class SseClient implements AsyncDisposable {
  readonly #server: Served;
  readonly #events: EventReader;
  readonly #path: string;
  readonly #roots: Roots;

  private constructor(server: Served, events: EventReader, path: string, roots: Roots) {
    this.#server = server;
    this.#events = events;
    this.#path = path;
    this.#roots = roots;
  }

  static async begin(server: Served, roots: Roots): Promise<SseClient> {
    const events = await server.listen("/sse");
    const path = (await events.next())?.data ?? "";
    const client = new SseClient(server, events, path, roots);
    await client.#ask("initialize", {
      protocolVersion: "2024-11-05",
      capabilities: capabilitiesOf(roots),
      clientInfo: { name: "old", version: "1" },
    });
    return client;
  }

  async call(tool: string, args: object = {}): Promise<string> {
    return textOf(await this.#ask("tools/call", { name: tool, arguments: args }));
  }

  async #ask(method: string, params: object): Promise<Body> {
    await this.#server.fetch({}, { id: 1, method, params }, this.#path);
    for (;;) {
      const message = await this.#events.message();
      if (message.method === undefined) return message;
      if (message.method !== "roots/list") continue;
      const answer = { id: message.id, result: answerTo(this.#roots) };
      await this.#server.fetch({}, answer, this.#path);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#events.cancel();
  }
}

/** A client of 2026-07-28: each request speaks for itself, and is asked by its answer. */
export class ModernClient implements RootedClient {
  asked = 0;
  readonly roots: Roots;
  readonly #server: Served;
  readonly #name: string;

  constructor(server: Served, roots: Roots, name = "assistant") {
    this.#server = server;
    this.roots = roots;
    this.#name = name;
  }

  async call(tool: string, args: object = {}): Promise<string> {
    let more: object = {};
    for (;;) {
      const body = await this.#send("tools/call", { name: tool, arguments: args, ...more });
      const { resultType, inputRequests = {}, requestState } = body.result ?? {};
      if (resultType !== "input_required") return textOf(body);
      const asked = Object.entries(inputRequests as Record<string, { method: string }>);
      for (const [, { method }] of asked) assert.equal(method, "roots/list");
      this.asked++;
      if (this.roots === "silent") return "(asked, and does not come back)";
      const answers = asked.map(([key]) => [key, answerTo(this.roots)] as const);
      more = { requestState, inputResponses: Object.fromEntries(answers) };
    }
  }

  async untilOffered(tool: string): Promise<void> {
    while (!hasTool(await this.#send("tools/list", {}), tool));
  }

  async #send(method: string, params: Params): Promise<Body> {
    const headers = {
      "mcp-protocol-version": MODERN,
      "mcp-method": method,
      ...(params.name === undefined ? {} : { "mcp-name": params.name }),
    };
    const _meta = {
      [`${M}protocolVersion`]: MODERN,
      [`${M}clientCapabilities`]: capabilitiesOf(this.roots),
      [`${M}clientInfo`]: { name: this.#name, version: "1" },
    };
    const request = { id: 1, method, params: { ...params, _meta } };
    const response = await this.#server.fetch(headers, request);
    return (await answerOf(response)).body;
  }
}

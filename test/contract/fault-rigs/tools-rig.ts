import { gatewaySources } from "../../support/gateway-sources.ts";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import assert from "node:assert/strict";

import type { AppContext } from "../../../src/config/app-context.ts";
import { openHttpServer } from "../../../src/app/serve/http-server.ts";
import { lazyTasks } from "../../../src/app/tool/lazy-tools.ts";
import { type OpenedTools, openTools } from "../../../src/app/tool/open-tools.ts";
import { jugglerServer } from "../../../src/protocol/juggler/serve.ts";
import { Connection } from "../../../src/protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../../src/protocol/mcp/serve/door.ts";
import type { PeerOptions } from "../../../src/rpc/peer-options.ts";
import { Peer } from "../../../src/rpc/peer.ts";
import { OwnerToken } from "../../../src/store/access/access-token.ts";
import { Reviews } from "../../../src/store/review/reviews.ts";
import { textResult } from "../../../src/tool/tool.ts";
import type { Channel } from "../../../src/wire/channel.ts";
import { memoryPair } from "../../../src/wire/channel/memory.ts";
import { FAR_TOOL, LostTasks } from "./far-tool.ts";
import { type FaultApp, faultApp } from "./fault-app.ts";
import type { FaultRig, Step } from "../store-fault-contract.ts";

interface Answer {
  readonly id?: unknown;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly result?: any;
  readonly error?: { readonly message: string };
}

/** Sends one request of a dialect, and gives its answer. */
type Ask = (method: string, params: object) => Promise<Answer>;
/** Calls a tool, and throws the words that it failed with. */
export type CallTool = (name: string, args: object) => Promise<unknown>;

const IDENTITIES = {
  work: { provider: "github", user: "ada", email: "ada@work.example" },
  home: { provider: "github", user: "ada-l", email: "ada@home.example" },
};

/** Tools that write: comments, identities, tasks, and those of others that are to be approved. */
export class ToolsRig implements FaultRig {
  readonly folder: string;
  readonly steps: readonly Step[];
  readonly #home: FaultApp["home"];
  readonly #open: AsyncDisposable;
  readonly #tools: OpenedTools;
  readonly #call: CallTool;
  #count = 0;
  #thread = "";
  readonly #lost: LostTasks | undefined;
  readonly #answered: { readonly thread: string; readonly text: string }[] = [];

  constructor(
    { home }: FaultApp,
    tools: OpenedTools,
    open: AsyncDisposable,
    call: CallTool,
    more: readonly Step[] = [],
    lost?: LostTasks,
  ) {
    this.#home = home;
    this.folder = home.data;
    this.#tools = tools;
    this.#open = open;
    this.#call = call;
    this.#lost = lost;
    const taken = { name: "task of a process that has ended", run: async () => lost?.take() };
    this.steps = [...this.#steps(), ...more, taken];
  }

  /** A person leaves a comment, and a process ends. */
  async prepare(): Promise<void> {
    await this.#lost?.prepare();
    const { project, data } = this.#home;
    using reviews = await Reviews.open(data);
    const { id } = await reviews.add({
      repository: { gitDir: join(project, ".git"), root: project },
      anchor: { path: "a.txt", side: "new", line: 1, end: 1 },
      comment: `comment ${++this.#count}`,
      severity: "should",
      by: "ada",
      source: "test",
    });
    this.#thread = id;
  }

  /** All that an agent was told is said is there, and said once. */
  async verify(): Promise<void> {
    using reviews = await Reviews.open(this.folder);
    for (const { thread, text } of this.#answered) {
      const said = (await reviews.history(thread)).filter((event) => event.text === text);
      assert.equal(said.length, 1, `'${text}' is there once`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open[Symbol.asyncDispose]();
    await this.#home[Symbol.asyncDispose]();
  }

  #steps(): Step[] {
    const call = this.#call;
    const repository = this.#home.project;
    const identity = (): string => (this.#count % 2 === 0 ? "work" : "home");
    return [
      { name: "messages", run: () => call("check_lazygit_messages", {}) },
      { name: "list", run: () => call("review_list", { repository }) },
      { name: "claim", run: () => call("review_claim", { id: this.#thread, repository }) },
      {
        name: "reply",
        run: async () => {
          const text = `answer ${this.#count}`;
          await call("review_reply", { id: this.#thread, text });
          this.#answered.push({ thread: this.#thread, text });
        },
      },
      {
        name: "switch identity",
        run: () =>
          call("juggler_switch", {
            identity: identity(),
            repoPath: repository,
            setRemote: false,
            configureGPG: false,
          }),
      },
      { name: "status", run: () => call("juggler_status", { repoPath: repository }) },
      {
        name: "another server's tool that has changed",
        run: async () => {
          const { offer, approvals } = this.#tools;
          const description = `since ${this.#count}`;
          const remove = offer.tools.add({
            definition: { name: "theirs", description, inputSchema: { type: "object" } },
            source: { server: "theirs", name: "theirs" },
            call: () => textResult("x"),
          });
          await approvals?.flush();
          remove();
        },
      },
    ];
  }
}

export async function openToolsApp(): Promise<FaultApp & { tools: OpenedTools }> {
  const opened = await faultApp({ identities: IDENTITIES, review: { dropFiles: false } });
  const { home, app } = opened;
  const git = (...args: string[]): unknown => execFileSync("git", args, { cwd: home.project });
  git("init", "--quiet");
  writeFileSync(join(home.project, "a.txt"), "one\n");
  const tools = await openTools(app, { needsApprovals: true, isShared: true });
  tools.offer.tools.add({
    definition: { name: "long", inputSchema: { type: "object" } },
    task: "optional",
    call: async () => textResult("done"),
  });
  tools.offer.tools.add(FAR_TOOL);
  return { ...opened, tools };
}

/** One conversation on standard streams. */
function converse<S>(
  app: AppContext,
  state: S,
  door: PeerOptions<S>,
  opened: AsyncDisposableStack,
): Ask {
  const [near, far] = memoryPair();
  const peer = new Peer(near, state, app.withLimits(door));
  opened.defer(() => peer.close());
  return askOn(far);
}

/** Asks on a client's end of a channel. */
export function askOn(far: Channel<string>): Ask {
  const pending = new Map<unknown, (answer: Answer) => void>();
  far.receive({
    message: (text) => {
      const answer = JSON.parse(text) as Answer;
      pending.get(answer.id)?.(answer);
    },
    fault: () => {},
    end: () => {},
  });
  let lastId = 0;
  return async (method, params) => {
    const id = ++lastId;
    const answered = new Promise<Answer>((resolve) => pending.set(id, resolve));
    void far.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return await answered;
  };
}

export function need({ result, error }: Answer): Answer["result"] {
  if (error !== undefined) throw new Error(error.message);
  if (result?.isError === true) throw new Error(String(result.content[0].text));
  return result;
}

export const HELLO = { capabilities: {}, clientInfo: { name: "test", version: "1" } };

export function mcpSteps(ask: Ask): Step[] {
  const runAsTask = async (name: string): Promise<void> => {
    const { task } = need(await ask("tools/call", { name, arguments: {}, task: {} }));
    const { taskId } = task as { taskId: string };
    need(await ask("tasks/result", { taskId }));
    need(await ask("tasks/get", { taskId }));
  };
  return [
    { name: "task", run: () => runAsTask("long") },
    { name: "task that goes on elsewhere", run: () => runAsTask("far") },
    { name: "list tools", run: async () => need(await ask("tools/list", {})) },
  ];
}

function lostTasks({ home }: FaultApp, ask: Ask): LostTasks {
  return new LostTasks(home.data, async (taskId) => {
    return String(need(await ask("tasks/result", { taskId })).content[0].text);
  });
}

export async function mcpOnStdio(): Promise<FaultRig> {
  const app = await openToolsApp();
  const opened = new AsyncDisposableStack();
  opened.use(app.tools);
  const tasks = opened.use(lazyTasks(app.app));
  const door = new McpDoor({
    offer: app.tools.offer,
    tasks: { store: () => tasks.get(), report: app.app.report },
  });
  const connection = opened.use(new Connection());
  const ask = converse(app.app, connection, door.optionsFor(connection), opened);
  need(await ask("initialize", { protocolVersion: "2025-11-25", ...HELLO }));
  const call: CallTool = async (name, args) =>
    need(await ask("tools/call", { name, arguments: args }));
  return new ToolsRig(app, app.tools, opened, call, mcpSteps(ask), lostTasks(app, ask));
}

export async function mcpOnHttp(): Promise<FaultRig> {
  const app = await openToolsApp();
  const opened = new AsyncDisposableStack();
  opened.use(app.tools);
  const server = await openHttpServer(app.app, { sources: gatewaySources(app.tools.offer) });
  opened.defer(() => server.close(0));
  const headers: Record<string, string> = {
    authorization: `Bearer ${new OwnerToken(app.home.data).read()}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  let lastId = 0;
  const ask: Ask = async (method, params) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method, params });
    const response = await fetch(`${server.origin}/mcp`, { method: "POST", headers, body });
    headers["mcp-session-id"] ??= response.headers.get("mcp-session-id") ?? "";
    const text = await response.text();
    return JSON.parse(/^data: (\{.*"(?:result|error)".*)$/m.exec(text)?.[1] ?? text) as Answer;
  };
  need(await ask("initialize", { protocolVersion: "2025-11-25", ...HELLO }));
  const call: CallTool = async (name, args) =>
    need(await ask("tools/call", { name, arguments: args }));
  return new ToolsRig(app, app.tools, opened, call, mcpSteps(ask), lostTasks(app, ask));
}

export async function juggler(): Promise<FaultRig> {
  const app = await openToolsApp();
  const opened = new AsyncDisposableStack();
  opened.use(app.tools);
  const options = { offer: async () => app.tools.offer, folder: app.home.project };
  const ask = converse(app.app, undefined, jugglerServer(options), opened);
  need(await ask("acp/initialize", HELLO));
  const call: CallTool = async (tool, args) => {
    const params = { tool, arguments: args };
    const { success, output } = need(await ask("acp/executeAction", params));
    if (success !== true) throw new Error(String(output));
  };
  return new ToolsRig(app, app.tools, opened, call);
}

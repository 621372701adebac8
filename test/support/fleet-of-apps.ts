import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Principal } from "../../src/base/principal.ts";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { shareData } from "../../src/fleet/open/open-shared.ts";
import { shareTools } from "../../src/fleet/open/shared-tools.ts";
import { AppContext } from "../../src/config/app-context.ts";
import { type OpenedTools, openTools } from "../../src/app/tool/open-tools.ts";
import { SampleContext } from "../samples/sample-context.ts";
import { FleetNode, STATE, connectTo } from "./fleet-node.ts";
import { NatsServer } from "./nats-server.ts";

const ECHO = join(import.meta.dirname, "echo-server.mjs");

/** A real NATS server, and apps that are nodes of a fleet on it. */
export class FleetOfApps implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-tools-"));
  readonly said: string[] = [];
  readonly nats: NatsServer;

  private constructor(nats: NatsServer) {
    this.nats = nats;
  }

  static async start(): Promise<FleetOfApps> {
    return new FleetOfApps(await NatsServer.start());
  }

  /** A node with servers, by their names: each has the tools `NAME_do` and `NAME_read`. */
  async node(
    name: string,
    servers: Readonly<Record<string, readonly [string]>>,
    rules: readonly object[] = [],
    more: object = {},
  ): Promise<AppNode> {
    const mcpServers = Object.entries(servers).map(([server, [tools]]) => {
      const args = [ECHO, tools, this.#record(tools)];
      return [server, { command: process.execPath, args }];
    });
    const path = this.config(name);
    const config = {
      data: join(this.folder, name),
      mcpServers: Object.fromEntries(mcpServers),
      policy: { tools: { default: "allow", rules } },
      log: { level: "error" },
      ...more,
    };
    writeFileSync(path, JSON.stringify(config));
    return AppNode.start(this.nats.url, name, path);
  }

  /** The configuration file of a node. */
  config(name: string): string {
    return join(this.folder, `${name}.json`);
  }

  /** The messages that the server with these tools was called with. */
  recorded(tools: string): string[] {
    return readFileSync(this.#record(tools), { encoding: "utf8", flag: "a+" })
      .split("\n")
      .filter((line) => line !== "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.nats[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
  }

  #record(tools: string): string {
    return join(this.folder, `${tools}.calls`);
  }
}

/** A program that shares its stores and its tools with the other nodes. */
export class AppNode implements AsyncDisposable {
  readonly app: AppContext;
  readonly data: string;
  readonly tools: OpenedTools;
  readonly shared: ReturnType<typeof shareData>;
  readonly #opened: AsyncDisposableStack;

  private constructor(
    app: AppContext,
    tools: OpenedTools,
    shared: ReturnType<typeof shareData>,
    opened: AsyncDisposableStack,
  ) {
    this.app = app;
    this.data = app.config.data;
    this.tools = tools;
    this.shared = shared;
    this.#opened = opened;
  }

  static async start(url: string, name: string, file: string): Promise<AppNode> {
    await using opened = new AsyncDisposableStack();
    const env = { HOME: tmpdir() };
    const input = { cwd: tmpdir(), env, flags: { config: file } };
    const load = async (): Promise<Config> => (await loadConfig(input)).config;
    const app = new AppContext(await load(), { files: [file], load });
    const tools = opened.use(await openTools(app, { needsApprovals: true }));
    const fleet = opened.use(
      new FleetNode(await connectTo(url, name), name, () => ({ ...STATE, ...own?.state })),
    );
    const own: ReturnType<typeof shareTools> = opened.use(
      shareTools({ app, offer: tools.offer, fleet }),
    );
    const shared = opened.use(shareData({ app, fleet, role: "gateway", env }));
    fleet.members.join();
    return new AppNode(app, tools, shared, opened.move());
  }

  /** The tools of servers. */
  get names(): string[] {
    const tools = this.tools.offer.tools.list().filter(({ source }) => source !== undefined);
    return tools.map(({ definition }) => definition.name);
  }

  async call(tool: string, args: object, principal?: Principal): Promise<string> {
    const { name = "tester" } = principal ?? {};
    const caller = principal === undefined ? {} : { principal, name };
    const context = new SampleContext({ caller });
    const result = await this.tools.offer.tools.call(tool, { ...args }, context);
    return String(result.content[0]?.text);
  }

  /** What the audit of this node has. */
  get audit(): Record<string, unknown>[] {
    const path = join(this.data, "audit/audit.ndjson");
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}

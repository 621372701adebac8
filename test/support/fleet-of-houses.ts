import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Principal } from "../../src/base/principal.ts";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { type Shared, openShared } from "../../src/fleet/open/open-shared.ts";
import { SharedTools } from "../../src/fleet/open/shared-tools.ts";
import { House } from "../../src/config/house.ts";
import { type OpenedTools, openTools } from "../../src/app/tool/open-tools.ts";
import { SampleContext } from "../samples/sample-context.ts";
import { FleetNode, STATE, connectTo } from "./fleet-node.ts";
import { NatsServer } from "./nats-server.ts";

const ECHO = join(import.meta.dirname, "echo-server.mjs");

/** A real NATS server, and houses that are nodes of a fleet on it. */
export class FleetOfHouses implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-tools-"));
  readonly said: string[] = [];
  readonly nats: NatsServer;

  private constructor(nats: NatsServer) {
    this.nats = nats;
  }

  static async start(): Promise<FleetOfHouses> {
    return new FleetOfHouses(await NatsServer.start());
  }

  /** A node with servers, by their names: each has the tools `NAME_do` and `NAME_read`. */
  async node(
    name: string,
    servers: Readonly<Record<string, readonly [string]>>,
    rules: readonly object[] = [],
    more: object = {},
  ): Promise<HouseNode> {
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
    return HouseNode.start(this.nats.url, name, path);
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

/** A house that shares its stores and its tools with the other nodes. */
export class HouseNode implements AsyncDisposable {
  readonly house: House;
  readonly data: string;
  readonly tools: OpenedTools;
  readonly shared: Shared;
  readonly #opened: AsyncDisposableStack;

  private constructor(
    house: House,
    tools: OpenedTools,
    shared: Shared,
    opened: AsyncDisposableStack,
  ) {
    this.house = house;
    this.data = house.config.data;
    this.tools = tools;
    this.shared = shared;
    this.#opened = opened;
  }

  static async start(url: string, name: string, file: string): Promise<HouseNode> {
    await using opened = new AsyncDisposableStack();
    const env = { HOME: tmpdir() };
    const input = { cwd: tmpdir(), env, flags: { config: file } };
    const load = async (): Promise<Config> => (await loadConfig(input)).config;
    const house = new House(await load(), { files: [file], load });
    const tools = opened.use(await openTools(house, { needsApprovals: true }));
    const fleet = opened.use(
      new FleetNode(await connectTo(url, name), name, () => ({ ...STATE, ...own?.state })),
    );
    const own: SharedTools = opened.use(new SharedTools({ house, offer: tools.offer, fleet }));
    const shared = opened.use(openShared({ house, fleet, role: "gateway", env }));
    fleet.members.join();
    return new HouseNode(house, tools, shared, opened.move());
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

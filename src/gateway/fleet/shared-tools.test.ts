import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleContext } from "../../../test/samples/sample-context.ts";
import { FleetNode, STATE, connectTo } from "../../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/shared-fleet.ts";
import type { Principal } from "../../base/principal.ts";
import { loadConfig } from "../config/load.ts";
import { House } from "../house.ts";
import { type OpenedTools, openTools } from "../tool/open-tools.ts";
import { SharedTools } from "./shared-tools.ts";

const ECHO = join(import.meta.dirname, "../../../test/support/echo-server.mjs");

describe("SharedTools", { skip: noNats }, () => {
  it("lets one node call the tools of another, under its policy and for the same caller", async () => {
    await using rig = await Rig.start();
    await using a = await rig.node("a", { x: ["x"] }, [{ tool: "x_read", decision: "deny" }]);
    await using b = await rig.node("b", { y: ["y"] });
    await until(() => a.names.includes("y_do") && b.names.includes("x_do"));
    assert.match(await b.call("x_do", { message: "hello" }), /^\d+ hello$/);
    // The policy of the node that has the tool.
    assert.match(await b.call("x_read", { message: "secret" }), /policy/);
    // What the token of the caller allows.
    const scoped = { id: "token:1", name: "ci", scopes: ["tools"], limits: { tools: ["x_do"] } };
    const called = await b.call("x_do", { message: "as ci" }, scoped as Principal);
    assert.match(called, /as ci$/);
    assert.match(await b.call("x_read", {}, scoped as Principal), /may not use/);
    assert.deepEqual(rig.recorded("x"), ["hello", "as ci"]);
    await until(() => a.audit.filter(({ tool }) => tool === "x_do").length >= 2);
    const audited = a.audit.filter(({ tool, outcome }) => tool === "x_do" && outcome === "ok");
    assert.deepEqual(
      audited.map(({ principal, caller }) => [principal ?? "", caller]),
      [
        ["", "tester"],
        ["token:1", "ci"],
      ],
    );
  });

  it("offers no tools of a third node, and renames those with equal names", async () => {
    await using rig = await Rig.start();
    await using a = await rig.node("a", { x: ["same"] });
    await using b = await rig.node("b", { x: ["same"] });
    await using c = await rig.node("c", {});
    await until(() => c.names.includes("b_same_do") && c.names.includes("same_do"));
    await until(() => a.names.includes("b_same_do") && b.names.includes("a_same_do"));
    assert.deepEqual(
      c.names.filter((name) => name.endsWith("_do")),
      ["same_do", "b_same_do"],
    );
    // A client cannot say that it is somebody else.
    const context = new SampleContext({ caller: { principal: LIMITED } });
    Object.assign(context.meta, { "trunkline.dev/caller": { principal: { id: "" } } });
    await c.tools.offer.tools.call("b_same_do", { message: "m" }, context);
    await until(() => b.audit.some(({ principal }) => principal === LIMITED.id));
  });

  it("takes the tools of a node away that leaves, and says so to a call", async () => {
    await using rig = await Rig.start();
    await using a = await rig.node("a", {});
    {
      await using _b = await rig.node("b", { y: ["y"] });
      await until(() => a.names.includes("y_do"));
      const waiting = a.call("y_do", { message: "slow", wait: 60_000 });
      await until(() => rig.recorded("y").includes("slow"));
      void waiting.then((text) => rig.said.push(text));
    }
    await until(() => !a.names.includes("y_do"));
    await until(() => rig.said.length > 0);
    assert.match(rig.said[0] ?? "", /'b'/);
  });
});

const LIMITED: Principal = { id: "token:2", scopes: ["tools"] };

class Rig implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-tools-"));
  readonly said: string[] = [];
  readonly #nats: NatsServer;

  private constructor(nats: NatsServer) {
    this.#nats = nats;
  }

  static async start(): Promise<Rig> {
    return new Rig(await NatsServer.start());
  }

  /** A node with servers, by their names: each has the tools `NAME_do` and `NAME_read`. */
  async node(
    name: string,
    servers: Readonly<Record<string, readonly [string]>>,
    rules: readonly object[] = [],
  ): Promise<Node> {
    const mcpServers = Object.entries(servers).map(([server, [tools]]) => {
      const args = [ECHO, tools, this.#record(tools)];
      return [server, { command: process.execPath, args }];
    });
    const path = join(this.folder, `${name}.json`);
    const config = {
      data: join(this.folder, name),
      mcpServers: Object.fromEntries(mcpServers),
      policy: { tools: { default: "allow", rules } },
    };
    writeFileSync(path, JSON.stringify(config));
    return Node.start(this.#nats.url, name, path);
  }

  /** The messages that the server with these tools was called with. */
  recorded(tools: string): string[] {
    return readFileSync(this.#record(tools), { encoding: "utf8", flag: "a+" })
      .split("\n")
      .filter((line) => line !== "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nats[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
  }

  #record(tools: string): string {
    return join(this.folder, `${tools}.calls`);
  }
}

class Node implements AsyncDisposable {
  readonly tools: OpenedTools;
  readonly #data: string;
  readonly #opened: AsyncDisposableStack;

  private constructor(data: string, tools: OpenedTools, opened: AsyncDisposableStack) {
    this.tools = tools;
    this.#data = data;
    this.#opened = opened;
  }

  static async start(url: string, name: string, file: string): Promise<Node> {
    await using opened = new AsyncDisposableStack();
    const input = { cwd: tmpdir(), env: { HOME: tmpdir() }, flags: { config: file } };
    const house = new House((await loadConfig(input)).config);
    const tools = opened.use(await openTools(house, { needsApprovals: true }));
    const fleet = opened.use(
      new FleetNode(await connectTo(url, name), name, () => ({ ...STATE, ...shared?.state })),
    );
    const shared: SharedTools = opened.use(new SharedTools({ house, offer: tools.offer, fleet }));
    fleet.members.join();
    return new Node(house.config.data, tools, opened.move());
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
    const path = join(this.#data, "audit.ndjson");
    const lines = readFileSync(path, { encoding: "utf8", flag: "a+" }).split("\n");
    return lines
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}

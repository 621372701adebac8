import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { until } from "../../../test/support/until.ts";
import { SampleContext } from "../../../test/upstream/sample-context.ts";
import type { Config } from "../../config/config.ts";
import { loadConfig } from "../../config/load.ts";
import { AppContext } from "../../config/app-context.ts";
import { openOffer } from "./upstreams.ts";

/** A server in a few lines, whose one tool has the name that it is started with. */
const SERVER = `
  const answers = {
    initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} } }),
    "tools/list": () => ({ tools: [{ name: process.argv[1], inputSchema: { type: "object" } }] }),
    "tools/call": () => ({ content: [{ type: "text", text: String(process.pid) }] }),
  };
  require("node:readline").createInterface(process.stdin).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const result = answers[method]?.();
    const error = { code: -32601, message: "Method not found" };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
  });`;

const server = (tool: string) => ({ command: process.execPath, args: ["-e", SERVER, tool] });

/** A home with a configuration file that can be changed. */
class Home implements AsyncDisposable {
  readonly file: string;
  readonly #folder: Awaited<ReturnType<typeof mkdtempDisposable>>;

  private constructor(folder: Awaited<ReturnType<typeof mkdtempDisposable>>) {
    this.#folder = folder;
    this.file = join(folder.path, "config.jsonc");
  }

  static async create(mcpServers: Config["mcpServers"]): Promise<Home> {
    const home = new Home(await mkdtempDisposable(join(tmpdir(), "trunkline-")));
    await home.configure(mcpServers);
    return home;
  }

  configure(mcpServers: Config["mcpServers"]): Promise<void> {
    return this.write(JSON.stringify({ mcpServers, log: { level: "error" } }));
  }

  write(text: string): Promise<void> {
    return writeFile(this.file, text);
  }

  readonly load = async (): Promise<Config> => {
    const flags = { config: this.file, data: join(this.#folder.path, "data") };
    const { config } = await loadConfig({ cwd: "/", env: {}, flags, ignoreProject: true });
    return config;
  };

  async open() {
    const reloading = { files: [this.file], load: this.load };
    return openOffer(new AppContext(await this.load()), { reloading });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
  }
}

describe("openOffer()", { timeout: 60_000 }, () => {
  it("offers the tools of the configured servers", async () => {
    await using home = await Home.create({ a: server("first") });
    await using opened = await home.open();
    await opened.offer.known();
    const names = opened.offer.tools.list().map(({ definition }) => definition.name);
    assert.deepEqual(names, ["first"]);
    const result = await opened.offer.tools.call("first", {}, new SampleContext());
    assert.equal(Number(result.content[0]?.text), opened.status()[0]?.pid);
  });

  it("starts a server with the values that its settings refer to, and none that is disabled", async () => {
    const named = server("${TOOL_OF_THE_TEST:-fallback}");
    await using home = await Home.create({
      a: named,
      b: { ...server("other"), disabled: true },
      c: server("${keychain:nothing-of-this-name}"),
    });
    await using opened = await home.open();
    await opened.started();
    const names = opened.offer.tools.list().map(({ definition }) => definition.name);
    assert.deepEqual(names, ["fallback"]);
    const [first, last, ...rest] = opened.status();
    assert.deepEqual([first?.name, last?.name, rest], ["a", "c", []]);
    assert.match(last?.lastError ?? "", /trunkline model key set nothing-of-this-name/);
  });

  it("applies a changed policy", async () => {
    await using home = await Home.create({ a: server("first") });
    await using opened = await home.open();
    await opened.offer.known();
    const policy = { tools: { rules: [{ tool: "first", decision: "deny" }] } };
    await home.write(JSON.stringify({ mcpServers: { a: server("first") }, policy }));
    await until(() => opened.offer.tools.policy.denies);
    const refused = await opened.offer.tools.call("first", {}, new SampleContext());
    assert.match(String(refused.content[0]?.text), /The policy does not let .* call 'first'/);
  });

  it("applies changes of the file, and leaves unchanged servers alone", async () => {
    await using home = await Home.create({ a: server("first") });
    await using opened = await home.open();
    await opened.offer.known();
    const pid = opened.status()[0]?.pid;
    await home.configure({ b: server("second"), a: server("first") });
    await until(() => opened.status().length >= 2);
    await opened.offer.known();
    const names = opened.offer.tools.list().map(({ definition }) => definition.name);
    assert.deepEqual(names, ["second", "first"]);
    assert.equal(opened.status()[1]?.pid, pid);
  });

  it("keeps its servers if the file becomes invalid", async () => {
    await using home = await Home.create({ a: server("first") });
    const loads: boolean[] = [];
    const load = async (): Promise<Config> => {
      try {
        const config = await home.load();
        loads.push(true);
        return config;
      } catch (error) {
        loads.push(false);
        throw error;
      }
    };
    const app = new AppContext(await home.load());
    await using opened = await openOffer(app, { reloading: { files: [home.file], load } });
    await home.write(`{ "mcpServers": { "a": `);
    await until(() => loads.includes(false));
    assert.deepEqual(
      opened.status().map(({ name }) => name),
      ["a"],
    );
    await home.configure({ c: server("third") });
    await until(() => opened.status()[0]?.name === "c");
  });

  it("loads no code for MCP servers if there are none", () => {
    const module = JSON.stringify(join(import.meta.dirname, "upstreams.ts"));
    const script = `
      import { registerHooks } from "node:module";
      const loaded = [];
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
      const { openOffer } = await import(${module});
      await openOffer({ config: { mcpServers: {}, toolHooks: {}, data: "/nowhere" } });
      console.log(loaded.some((url) => url.includes("/tool/offer")));
      console.log(loaded.filter((url) => /src\\/upstream\\/(?!catalogue-key|open\\/)|child-process|mcp\\/connect/.test(url)));`;
    const args = ["--input-type=module", "-e", script];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(stdout, "true\n[]\n", stderr);
  });
});

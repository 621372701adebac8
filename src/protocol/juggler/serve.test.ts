import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../../base/errors.ts";
import { Peer } from "../../rpc/peer.ts";
import { FAULT_META, errorResult, textResult, type Tool, ToolFault } from "../../tool/tool.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";
import { Profiles } from "../../tool/profile/profiles.ts";
import { sampleTool } from "../../../test/samples/sample-context.ts";
import type { ToolboxOptions } from "../../tool/toolbox.ts";
import { memoryPair } from "../../wire/channel/memory.ts";
import { jugglerServer } from "./serve.ts";
import { covers } from "../../../test/support/requirement.ts";

/** A connection on which messages are sent as texts, and each waits for one answer. */
class Client implements AsyncDisposable {
  readonly #peer: Peer;
  readonly #far;
  readonly #waiting: ((text: string) => void)[] = [];
  readonly unasked: string[] = [];

  constructor(tools: readonly Tool[], options: ToolboxOptions = {}, profiles?: Profiles) {
    const offer = new Offer(options);
    if (profiles !== undefined) offer.profiles = profiles;
    for (const tool of tools) offer.tools.add(tool);
    const [near, far] = memoryPair();
    const info = {
      name: "RemoteJuggler",
      version: "2.2.0",
      description: "Git identity management",
    };
    this.#peer = new Peer(near, undefined, jugglerServer({ offer: async () => offer, info }));
    this.#far = far;
    far.receive({
      message: (text) => {
        const waiting = this.#waiting.shift();
        if (waiting === undefined) this.unasked.push(text);
        else waiting(text);
      },
      fault: () => {},
      end: () => {},
    });
  }

  tell(message: object): void {
    void this.#far.send(JSON.stringify(message));
  }

  async ask(message: object | string): Promise<Record<string, never>> {
    const answer = new Promise<string>((resolve) => this.#waiting.push(resolve));
    void this.#far.send(typeof message === "string" ? message : JSON.stringify(message));
    return JSON.parse(await answer) as Record<string, never>;
  }

  async call(tool: string, more: object = {}): Promise<Record<string, never>> {
    const params = { tool, ...more };
    return await this.ask({ jsonrpc: "2.0", id: 2, method: "acp/executeAction", params });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peer.close();
  }
}

const faulty = (kind: string): Tool =>
  sampleTool(`fail_${kind}`, () => ({
    ...errorResult("Error: words"),
    structuredContent: { identity: "wrok" },
    _meta: { [FAULT_META]: kind },
  }));

describe("RemoteJuggler's action dialect", () => {
  it("does not list tools that the policy denies to its caller", async () => {
    const tools = ["open", "closed"].map((name) => sampleTool(name, () => textResult(name)));
    const rules = [{ tool: "closed", caller: "evil *", decision: "deny" }] as const;
    const policy = new Policy({ default: "allow", rules });
    await using client = new Client(tools, { policy });
    const listed = async (name: string): Promise<string[]> => {
      const params = { clientInfo: { name, version: "1" } };
      const { result } = await client.ask({
        jsonrpc: "2.0",
        id: 1,
        method: "acp/initialize",
        params,
      });
      const { tools: all } = result as unknown as { tools: { name: string }[] };
      return all.map((tool) => tool.name);
    };
    assert.deepEqual(await listed("ide"), ["open", "closed"]);
    assert.deepEqual(await listed("evil"), ["open"]);
  });

  it("keeps ids unchanged, and answers no notification (RemoteJuggler defect 3)", async () => {
    covers("identity.parsing.id", "identity.parsing.notification");
    await using client = new Client([]);
    for (const id of ["a-string", "17", 17, 0, -1]) {
      const { id: back } = await client.ask({ jsonrpc: "2.0", id, method: "acp/initialize" });
      assert.deepEqual(back, id);
    }
    client.tell({ jsonrpc: "2.0", method: "notifications/initialized" });
    client.tell({ jsonrpc: "2.0", method: "initialized" });
    await client.ask({ jsonrpc: "2.0", id: 1, method: "acp/initialize" });
    assert.deepEqual(client.unasked, []);
  });

  it("calls any tool, with the project's folder and the caller's name", async () => {
    covers("identity.acp.action.context", "identity.compare.context");
    const seen: unknown[] = [];
    const tool = sampleTool("look", (args, { folder, caller: { door, name } }) => {
      seen.push({ args, folder, door, name });
      return textResult("seen");
    });
    await using client = new Client([tool]);
    const clientInfo = { name: "intellij", version: "2024.3" };
    await client.ask({ jsonrpc: "2.0", id: 1, method: "acp/initialize", params: { clientInfo } });
    const context = { projectPath: "/path/to/project" };
    const answer = await client.call("look", { arguments: { deep: true }, context });
    assert.deepEqual(answer.result, { success: true, output: "seen" });
    assert.deepEqual(seen, [
      {
        args: { deep: true },
        folder: "/path/to/project",
        door: "juggler",
        name: "intellij 2024.3",
      },
    ]);
  });

  it("runs identity actions one after another, and other tools in parallel", async () => {
    const order: string[] = [];
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await using client = new Client([
      sampleTool("juggler_switch", async () => {
        await held;
        order.push("switch");
        return textResult("");
      }),
      sampleTool("juggler_status", () => {
        order.push("status");
        return textResult("");
      }),
      sampleTool("other", () => {
        order.push("other");
        release();
        return textResult("");
      }),
    ]);
    const send = (id: number, tool: string) =>
      client.ask({ jsonrpc: "2.0", id, method: "acp/executeAction", params: { tool } });
    await Promise.all([send(1, "juggler_switch"), send(2, "juggler_status"), send(3, "other")]);
    assert.deepEqual(order, ["other", "switch", "status"]);
  });

  it("answers with the dialect's own codes for failures that have one", async () => {
    covers(
      "identity.error.not-found",
      "identity.error.validation",
      "identity.error.keychain",
      "identity.error.config",
    );
    const kinds = ["identity-not-found", "validation-failed", "keychain", "config"];
    await using client = new Client(kinds.map(faulty));
    const errors = [];
    for (const kind of kinds) errors.push((await client.call(`fail_${kind}`)).error);
    const data = { identity: "wrok", output: "Error: words" };
    assert.deepEqual(errors, [
      { code: -32001, message: "Identity not found", data },
      { code: -32002, message: "Validation failed", data },
      { code: -32003, message: "Keychain error", data },
      { code: -32004, message: "Config error", data },
    ]);
  });

  it("answers other failures with success: false and the reason", async () => {
    await using client = new Client([
      sampleTool("fails", () => errorResult("no luck")),
      sampleTool("late", () => {
        throw new TrunklineError("timeout", "took too long");
      }),
      sampleTool("faults", () => {
        throw new ToolFault(-32050, "theirs");
      }),
    ]);
    assert.deepEqual((await client.call("fails")).result, { success: false, output: "no luck" });
    // Its number would be that of an unknown identity.
    assert.deepEqual((await client.call("late")).result, {
      success: false,
      output: "took too long",
    });
    assert.deepEqual((await client.call("faults")).error, { code: -32050, message: "theirs" });
    const { error } = (await client.call("nothing")) as {
      error?: { code: number; message: string };
    };
    assert.deepEqual(
      [error?.code, error?.message],
      [-32602, "Invalid params: Unknown tool: nothing"],
    );
  });

  it("reports what is wrong with a message, and continues", async () => {
    await using client = new Client([]);
    const send = async (message: object | string) => {
      return ((await client.ask(message)) as { error?: { code: number; message: string } }).error;
    };
    const action = { jsonrpc: "2.0", id: 1, method: "acp/executeAction" };
    assert.equal((await send("{nonsense"))?.code, -32700);
    assert.equal((await send({ ...action, method: "acp/other" }))?.code, -32601);
    assert.match(
      (await send({ ...action, params: {} }))?.message ?? "",
      /'params\.tool' is missing/,
    );
    assert.match(
      (await send({ ...action, params: { tool: "x", context: { projectPath: 7 } } }))?.message ??
        "",
      /'params\.context\.projectPath' must be a string/,
    );
    assert.match(
      (await send({ ...action, params: { tool: "x", arguments: [] } }))?.message ?? "",
      /arguments/,
    );
  });

  it("names content that is not text, and shows structured content as JSON", async () => {
    await using client = new Client([
      sampleTool("image", () => ({
        content: [
          { type: "text", text: "one" },
          { type: "image", mimeType: "image/png", data: "AA==" },
        ],
      })),
      sampleTool("structured", () => ({ content: [], structuredContent: { a: 1 } })),
    ]);
    assert.deepEqual((await client.call("image")).result, {
      success: true,
      output: "one\n[image, image/png]",
    });
    assert.deepEqual((await client.call("structured")).result, {
      success: true,
      output: '{"a":1}',
    });
  });
});

describe("a client with a profile", () => {
  it("gets and calls what it shows", async () => {
    const profiles = new Profiles({ p: { for: { doors: ["acp"] }, tools: { deny: ["b"] } } });
    const tools = ["a", "b"].map((name) => sampleTool(name, () => textResult(name)));
    await using client = new Client(tools, {}, profiles);
    const { result } = await client.ask({
      jsonrpc: "2.0",
      id: 1,
      method: "acp/initialize",
      params: { clientInfo: { name: "ide", version: "1" } },
    });
    const listed = (result as unknown as { tools: { name: string }[] }).tools.map(
      ({ name }) => name,
    );
    assert.deepEqual(listed, ["a"]);
    assert.deepEqual((await client.call("a"))["result"], { success: true, output: "a" });
    assert.match(JSON.stringify(await client.call("b")), /Unknown tool: b/);
  });
});

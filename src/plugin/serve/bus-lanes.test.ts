import { create, type JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, mock } from "node:test";

import { LinkedPlugin, memoryConnection } from "../../../test/support/linked-plugin.ts";
import { type Json, RawClient } from "../../../test/upstream/raw-client.ts";
import { Log } from "../../base/log.ts";
import { Stopper } from "../../base/stop.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import { BusClient } from "../../protocol/bus/connect.ts";
import { FAILURE, failure } from "../../protocol/bus/failure.ts";
import { ToolDefinitionSchema, type ToolRequest } from "../../protocol/bus/plugin.gen.ts";
import type { Answer, BusHandlers } from "../../protocol/bus/serve.ts";
import { META } from "../../protocol/mcp/meta.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { AuditLog } from "../../store/audit/audit-log.ts";
import { AUDIT_FILE } from "../../store/audit/audit-names.ts";
import { CallLane } from "../../tool/lane/call-lane.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";
import { FirstStarts } from "../plugin/first-starts.ts";
import { pluginTool } from "../plugin/plugin-tool.ts";
import { Guests } from "../guests.ts";
import { RemoteBus } from "../remote-bus.ts";
import { BusLanes } from "./bus-lanes.ts";
import { Events } from "./events.ts";
import { CONTROL } from "./serve-control.ts";
import { type Bus, serveBus } from "./serve-bus.ts";

const TOOL = create(ToolDefinitionSchema, {
  name: "greet",
  inputSchema: { type: "object", properties: { n: { type: "number" } } },
});
type More = Partial<Omit<ToolRequest, "$typeName" | "$unknown" | "arguments">>;

const FIRST = { text: "first" };

function said(result: JsonObject): Answer {
  return { case: "toolCall", value: { success: true, result } };
}

/** A plugin behind an orchestrator, which passes calls on or has each take the whole way. */
class Chain implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-bus-lanes-"));
  readonly audit = new AuditLog(this.folder);
  readonly offer = new Offer({ audit: this.audit });
  /** What the plugin was asked. */
  readonly asked: ToolRequest[] = [];
  /** The calls that took the whole way. */
  readonly whole = mock.method(this.offer.tools, "call");
  readonly ofBridge = new Offer({ audit: this.audit });
  readonly ofClients = mock.method(this.ofBridge.tools, "call");
  readonly guests = new Guests({ rightsOf: () => undefined });
  readonly #stack = new AsyncDisposableStack();
  readonly #bus: Bus;

  constructor(answer: (request: ToolRequest) => Answer | Promise<Answer>, more: BusHandlers = {}) {
    const plugin = new LinkedPlugin({
      toolCall: (request) => {
        this.asked.push(request);
        return request.arguments?.text === "first" ? said({ text: "" }) : answer(request);
      },
      ...more,
    });
    this.#stack.use(plugin);
    for (const name of ["greet", CONTROL.list]) {
      this.offer.tools.add(pluginTool(plugin, TOOL, name));
    }
    this.#bus = {
      offer: this.offer,
      events: new Events({ report: () => {} }),
      guests: this.guests,
      log: new Log("error", () => {}),
      firstStarts: new FirstStarts({ plugins: () => [], manifestOf: () => undefined, patience: 0 }),
      tools: { ownerOf: () => "sample", ownerOfPrompt: () => "sample" },
      ...{ report: () => {}, registered: () => {}, deliverTo: () => undefined },
    };
  }

  dialling(isPassing: boolean) {
    const more = isPassing ? { pass: new BusLanes(this.#bus).take } : {};
    return async () => memoryConnection(serveBus(this.#bus), more);
  }

  /** Somebody who calls its tools. */
  async client(isPassing = true): Promise<BusClient> {
    const client = this.#stack.use(new BusClient({ name: "It", dial: this.dialling(isPassing) }));
    await ask(client, FIRST);
    return client;
  }

  /** A client of MCP that is brought to the bus, and of which calls are passed on. */
  async mcpClient(capabilities: Json = {}, answers = {}): Promise<RawClient> {
    const bus = this.#stack.use(
      new RemoteBus({
        address: "localhost:1",
        dial: this.dialling(true),
        connected: () => {},
        lost: () => {},
      }),
    );
    await bus.connect();
    const offer = this.ofBridge;
    bus.offerIn(offer);
    await offer.known();
    const options = { revision: "2025-11-25", capabilities, answers } as const;
    const client = this.#stack.use(await RawClient.connect(new McpDoor({ offer }), options));
    const whole = (): number => this.ofClients.mock.callCount() + this.whole.mock.callCount();
    let before: number;
    do {
      before = whole();
      await client.callTool("greet", FIRST);
    } while (whole() > before);
    return client;
  }

  /** The records of calls, in order, without what differs between two calls. */
  get records(): Json[] {
    this.audit.flush();
    const lines = readFileSync(join(this.folder, AUDIT_FILE), "utf8").trim().split("\n");
    // How long a line is, which is said where arguments are left out, depends on the time it took.
    const records = lines.map((line) => JSON.parse(line.replace(/\d+ char/, "many char")) as Json);
    return records
      .filter((record) => !("seal" in record))
      .map((record) => ({ ...record, time: 0, milliseconds: 0 }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
    this.audit[Symbol.dispose]();
    rmSync(this.folder, { recursive: true });
  }
}

async function ask(client: BusClient, args: JsonObject, more: More = {}) {
  const value = { toolName: "greet", arguments: args, ...more };
  return answerOf("It", await client.ask({ case: "toolCall", value }), "toolCall");
}

function nested(levels: number): JsonObject {
  return levels === 0 ? {} : { in: nested(levels - 1) };
}

const ARGUMENTS: Record<string, JsonObject> = {
  "a text": { text: "hi" },
  nothing: {},
  numbers: { n: 2 ** 53 + 2, small: 5e-324, large: 1.7976931348623157e308, zero: -0 },
  "other letters": { text: "\ufeffä€𝄞\u2028" },
  "nested objects": nested(200),
  "a member __proto__": JSON.parse('{"__proto__":{"a":1},"1":2,"0":[null,true,[]]}') as JsonObject,
  "a secret": { password: "hunter2", text: `Bearer ${"x".repeat(30)}` },
  "a long text": { text: "long ".repeat(5_000) },
  "more than a record holds": Object.fromEntries(
    Array.from({ length: 3_000 }, (_, at) => [`member ${at}`, "some words in a text"]),
  ),
};

const ANSWERS: Record<string, Answer> = {
  "an empty text": said({ text: "" }),
  "other letters": said({ text: "\ufeffä€𝄞\u2028" }),
  "a long text": said({ text: "x".repeat(300_000) }),
  "a text and more": said({ text: "t", n: 1 }),
  "a member before the text": said({ n: 1, text: "t" }),
  "no text": said({ n: 1 }),
  "a text that is a number": said({ text: 1 }),
  nothing: { case: "toolCall", value: { success: true } },
  content: said({ text: "t", content: [{ type: "text", text: "t", x: 1 }] }),
  "a failure": { case: "toolCall", value: failure("not_found", "no such note") },
  "a failure with a result": {
    case: "toolCall",
    value: { success: false, errorCode: "c", result: { text: "t" } },
  },
  "another kind of answer": { case: "health", value: {} },
};

describe("a call over the bus that is passed on", () => {
  for (const [what, args] of Object.entries(ARGUMENTS)) {
    it(`reaches the plugin and the record as one that takes the whole way: ${what}`, async () => {
      await using chain = new Chain(({ arguments: given }) =>
        said({ text: JSON.stringify(given) }),
      );
      const slow = await chain.client(false);
      const fast = await chain.client();
      const expected = await ask(slow, args, { sessionId: "" });
      const before = chain.whole.mock.callCount();
      assert.deepEqual(await ask(fast, args), expected);
      assert.equal(chain.whole.mock.callCount(), before, "it was passed on");
      assert.deepEqual(chain.asked.at(-1), chain.asked.at(-2));
      assert.deepEqual(chain.records.at(-1), chain.records.at(-2));
      assert.deepEqual(
        Object.keys(chain.records.at(-1) ?? {}),
        Object.keys(chain.records[0] ?? {}),
      );
    });
  }

  for (const [what, answer] of Object.entries(ANSWERS)) {
    it(`is answered as one that takes the whole way: ${what}`, async () => {
      await using chain = new Chain(() => answer);
      const slow = await chain.client(false);
      const fast = await chain.client();
      const expected = await ask(slow, { n: 1 });
      const before = chain.whole.mock.callCount();
      assert.deepEqual(await ask(fast, { n: 1 }), expected);
      assert.equal(chain.whole.mock.callCount(), before, "it was passed on");
      assert.deepEqual(chain.records.at(-1), chain.records.at(-2));
    });
  }

  it("is refused where its arguments do not fit, or the policy has changed", async () => {
    await using chain = new Chain(() => said({ text: "t" }));
    const client = await chain.client();
    const wrong = await ask(client, { n: "one" });
    assert.equal(wrong.errorCode, FAILURE.validation);
    assert.equal((await ask(client, { n: 1 })).success, true);
    chain.offer.tools.policy = new Policy({
      default: "allow",
      rules: [{ tool: "greet", decision: "deny" }],
    });
    const denied = await ask(client, { n: 1 });
    assert.match(denied.errorMessage, /The policy does not let anonymous call 'greet'/);
    const outcomes = chain.records.map(({ outcome }) => outcome as string);
    assert.deepEqual(outcomes, ["ok", "refused", "ok", "refused"]);
    assert.equal(chain.asked.length, 2);
  });

  it("is refused where its caller may not call the tool any more", async () => {
    await using chain = new Chain(() => said({ text: "t" }));
    const client = await chain.client();
    assert.equal((await ask(client, { n: 1 })).success, true);
    mock.method(chain.guests, "of", () => ({
      ...{ name: "notes", isPlugin: false, mayCall: () => false },
    }));
    assert.equal((await ask(client, { n: 1 })).errorCode, "untrusted");
    assert.equal(chain.asked.length, 2);
  });

  it("goes to the tool that has its name now", async () => {
    await using chain = new Chain(() => said({ text: "old" }));
    const client = await chain.client();
    await using other = new LinkedPlugin({ toolCall: () => said({ text: "new" }) }, "other");
    chain.offer.tools.add(pluginTool(other, TOOL, "other"));
    const tool = chain.offer.tools.get("other");
    mock.method(chain.offer.tools, "get", () => tool);
    assert.equal((await ask(client, { n: 1 })).result?.text, "new");
  });

  it("takes the whole way where something is said for it alone, or a plugin makes it", async () => {
    await using chain = new Chain(() => said({ text: "t" }));
    const client = await chain.client();
    const isWhole = async (more: More): Promise<boolean> => {
      const before = chain.whole.mock.callCount();
      await ask(client, { n: 1 }, more);
      return chain.whole.mock.callCount() > before;
    };
    assert.equal(await isWhole({}), false);
    assert.equal(await isWhole({ provider: "claude" }), true);
    assert.equal(await isWhole({ traceParent: "00-1-2-01" }), true);
    assert.deepEqual(
      chain.asked.slice(-2).map(({ provider, traceParent }) => [provider, traceParent]),
      [
        ["claude", ""],
        ["", "00-1-2-01"],
      ],
    );
    const guest = { name: "notes", isPlugin: true, mayCall: () => true };
    mock.method(chain.guests, "of", () => guest);
    assert.equal(await isWhole({}), true);
    assert.equal(await isWhole({}), true);
  });

  it("is recorded and passed on with its own session and folder, by the real path", async () => {
    await using chain = new Chain(() => said({ text: "t" }));
    const client = await chain.client();
    const link = join(chain.folder, "link");
    const real = (name: string): string => join(realpathSync(chain.folder), name);
    for (const name of ["one", "two"]) mkdirSync(join(chain.folder, name));
    for (const [target, sessionId] of [
      ["one", "s-1"],
      ["two", "s-1"],
      ["two", "s-2"],
    ] as const) {
      rmSync(link, { force: true });
      symlinkSync(join(chain.folder, target), link);
      for (let round = 0; round < 4; round++) {
        await ask(client, { n: 1 }, { project: link, sessionId });
        const { project, session } = chain.records.at(-1) ?? {};
        const asked = chain.asked.at(-1);
        assert.deepEqual([project, session], [asked?.project, asked?.sessionId]);
        assert.deepEqual([project, session], [real(target), sessionId]);
      }
    }
    // Each time, the first call finds that its lane is another one, and with another name also the second.
    assert.equal(chain.whole.mock.callCount(), 1 + 2 + 1 + 2);
  });

  it("gets no lane of its own where the calls before and after it are of other sessions", async () => {
    await using chain = new Chain(() => said({ text: "t" }));
    const client = await chain.client();
    const opening = mock.method(CallLane, "open");
    for (const sessionId of ["", "a", "", "a", "b", "a", "b"]) await ask(client, {}, { sessionId });
    opening.mock.restore();
    assert.equal(opening.mock.callCount(), 0);
    assert.equal(chain.whole.mock.callCount(), 1 + 5);
  });

  it("cannot be one of the tools of whoever runs the bus", async () => {
    await using chain = new Chain(() => said({ text: "t" }));
    const client = await chain.client();
    for (let round = 0; round < 3; round++) await ask(client, {}, { toolName: CONTROL.list });
    assert.equal(chain.whole.mock.callCount(), 1 + 3);
  });

  it("can be called off, of which the plugin hears", async () => {
    const begun = new EventTarget();
    const over = Promise.withResolvers<void>();
    const never = new Promise<never>(() => {});
    await using chain = new Chain(() => said({ text: "" }), {
      toolCall: (request, call) => {
        if (request.arguments?.text === "first") return said({ text: "" });
        call.stop.add({ stopped: () => over.resolve() });
        begun.dispatchEvent(new Event("call"));
        return never;
      },
    });
    const client = await chain.client();
    const called = once(begun, "call");
    const stop = new Stopper();
    const value = { toolName: "greet", arguments: { n: 1 } };
    const answer = client.ask({ case: "toolCall", value }, { stop });
    await called;
    stop.stop(new Error("enough"));
    await assert.rejects(answer, /enough/);
    await over.promise;
    while (chain.records.length < 2) await new Promise(setImmediate);
    assert.equal(chain.records.at(-1)?.["outcome"], "cancelled");
  });

  it("is answered in pieces where the tool answers only so", async () => {
    const value = failure(FAILURE.toolNotFound, "no such tool");
    await using chain = new Chain(() => ({ case: "toolCall", value }), {
      streamStart: async ({ streamId }, call) => {
        const piece = { streamId, data: Buffer.from("in pieces"), contentType: "text/plain" };
        await call.send({ case: "streamChunk", value: piece });
        return { case: "streamEnd", value: { streamId, success: true } };
      },
    });
    const client = await chain.client();
    for (let round = 0; round < 3; round++) {
      assert.equal((await ask(client, { n: 1 })).result?.text, "in pieces");
    }
    assert.equal(chain.asked.length, 2, "it was asked once for an answer at once");
  });
});

describe("a call of an MCP client that is passed on to the bus", () => {
  it("is answered, recorded and made as one that takes the whole way", async () => {
    await using chain = new Chain(({ arguments: given }) =>
      given?.n === 1 ? said({ text: "ä€\u2028" }) : { case: "toolCall", value: failure("c", "m") },
    );
    const client = await chain.mcpClient();
    const before = chain.ofClients.mock.callCount();
    for (const args of [{ n: 1, password: "hunter2" }, { n: 2 }]) {
      const records = chain.records.length;
      const passed = await client.callTool("greet", args);
      // What the level of its messages is has to be looked at for each call.
      const _meta = { [META.logLevel]: "info" };
      const whole = await client.callTool("greet", args, { _meta });
      assert.deepEqual(passed["result"], whole["result"]);
      const [one, other] = chain.records.slice(records).filter(({ door }) => door === "mcp");
      assert.deepEqual(one, other);
      assert.deepEqual(Object.keys(one ?? {}), Object.keys(other ?? {}));
      assert.deepEqual(chain.asked.at(-1), chain.asked.at(-2));
    }
    assert.equal(chain.ofClients.mock.callCount(), before + 2, "two of four took the whole way");
  });

  it("is about the folder that the client says, also when that has changed", async () => {
    await using chain = new Chain(() => said({ text: "t" }));
    for (const name of ["one", "two"]) mkdirSync(join(chain.folder, name));
    let at = "one";
    const answers = {
      "roots/list": () => ({ roots: [{ uri: `file://${join(chain.folder, at)}` }] }),
    };
    const client = await chain.mcpClient({ roots: { listChanged: true } }, answers);
    for (at of ["one", "two"]) {
      client.notify("notifications/roots/list_changed");
      for (let round = 0; round < 3; round++) {
        await client.callTool("greet", { n: 1 });
        assert.equal(chain.asked.at(-1)?.project, join(realpathSync(chain.folder), at));
        const recorded = chain.records.slice(-2).map(({ project }) => project as string);
        assert.deepEqual(new Set(recorded), new Set([join(realpathSync(chain.folder), at)]));
      }
    }
  });
});

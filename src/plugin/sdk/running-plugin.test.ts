import assert from "node:assert/strict";
import { mkdtempDisposableSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { onAbort } from "../../base/abort.ts";
import { covers } from "../../../test/support/requirement.ts";
import { Log } from "../../base/log.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import { FAILURE, failure } from "../../protocol/bus/failure.ts";
import { connect, listen } from "../../wire/quic/transport.ts";
import { definePlugin } from "./define-plugin.ts";
import { DefinedPlugin } from "./defined-plugin.ts";
import type { Plugin } from "./definition.ts";
import { startServing } from "./serve/serve-program.ts";
import { SampleOrchestrator } from "../../../test/samples/sample-orchestrator.ts";

const about = { id: "tools.sample", version: "1.0.0" };
const limit = { timeout: 60_000 };

function start(plugin: Plugin, orchestrator: SampleOrchestrator, listenAt = "localhost:0") {
  return startServing({
    parts: DefinedPlugin.take(plugin),
    flags: {
      orchestrator: orchestrator.address,
      listen: listenAt,
      certsDir: orchestrator.certsDir,
      isManifest: false,
    },
    transport: { listen, connect },
    log: new Log("error", () => {}),
  });
}

describe("startServing()", limit, () => {
  let first: SampleOrchestrator;
  before(async () => {
    first = await SampleOrchestrator.open();
  });
  after(() => first[Symbol.asyncDispose]());

  const greeter = definePlugin({
    ...about,
    tools: { greet: { description: "Greets", call: ({ name }) => `Hello, ${String(name)}` } },
    prompts: {
      ask: { description: "Asks", arguments: { what: { required: true } }, get: () => "?" },
    },
    events: {
      saved: { filters: { project: "web" }, handle: (_, { publish }) => publish("a", "b") },
    },
    needs: { tools: ["git_diff"] },
  });

  it("registers with its manifest, subscribes and gets events", async () => {
    covers("bus.plugin.dial-back", "bus.route.events");
    await using orchestrator = await first.beside();
    await using running = await start(greeter, orchestrator);
    await orchestrator.hears("register tools.sample as tools.sample-client");
    await orchestrator.hears('subscribe saved {"project":"web"}');
    const [manifest] = orchestrator.manifests;
    assert.deepEqual(manifest?.providesTools, ["greet"]);
    assert.deepEqual(manifest?.needsTools, ["git_diff"]);
    assert.deepEqual(manifest?.needsEvents, ["saved"]);
    const client = orchestrator.dial(running.address, about.id);
    const value = { topic: "saved", eventType: "x", payload: { project: "web" } };
    await client.ask({ case: "publish", value });
    await orchestrator.hears("publish a b {}");
  });

  it("answers all requests of an orchestrator's introduction", async () => {
    await using orchestrator = await first.beside();
    await using running = await start(greeter, orchestrator);
    const client = orchestrator.dial(running.address, about.id);
    const registered = await client.ask({ case: "register", value: { id: about.id } });
    assert.equal(answerOf("It", registered, "register").accepted, true);
    const other = await client.ask({ case: "register", value: { id: "other" } });
    assert.match(answerOf("It", other, "register").rejectReason, /this is plugin 'tools.sample'/);
    const booted = await client.ask({ case: "boot", value: { config: { a: "b" } } });
    assert.equal(answerOf("It", booted, "boot").ready, true);
    const { tools } = answerOf(
      "It",
      await client.ask({ case: "listTools", value: {} }),
      "listTools",
    );
    assert.deepEqual(
      tools.map(({ name, description }) => [name, description]),
      [["greet", "Greets"]],
    );
    assert.deepEqual(tools[0]?.inputSchema, { type: "object" });
    const listed = await client.ask({ case: "listPrompts", value: {} });
    const { prompts } = answerOf("It", listed, "listPrompts");
    assert.equal(prompts[0]?.arguments[0]?.required, true);
    const health = await client.ask({ case: "health", value: {} });
    assert.equal(answerOf("It", health, "health").message, "ok");
    const unknown = await client.ask({ case: "storageRead", value: { path: "x" } });
    assert.throws(() => answerOf("It", unknown, "storageRead"), /unknown_request/);
  });

  it("registers and subscribes again with a restarted orchestrator", async () => {
    await using orchestrator = await first.beside();
    await using _running = await start(greeter, orchestrator);
    await orchestrator.hears('subscribe saved {"project":"web"}');
    const { address } = orchestrator;
    await orchestrator.leave();
    await orchestrator.listen(address);
    await orchestrator.hears("register tools.sample as tools.sample-client", 2);
    await orchestrator.hears('subscribe saved {"project":"web"}', 2);
  });

  it("serves without an orchestrator, and connects once there is one", async () => {
    await using orchestrator = await first.beside();
    const { address } = orchestrator;
    await orchestrator.leave();
    await using running = await start(greeter, {
      address,
      certsDir: orchestrator.certsDir,
    } as SampleOrchestrator);
    const client = orchestrator.dial(running.address, about.id);
    await client.ask({ case: "health", value: {} });
    await orchestrator.listen(address);
    await orchestrator.hears("register tools.sample as tools.sample-client");
  });

  it("gets events as further answers from an orchestrator that cannot connect to it", async () => {
    await using orchestrator = await first.beside({
      subscribe: async ({ subscriptionId, topic }, call) => {
        await call.send({ case: "eventDelivery", value: { subscriptionId, topic } });
        const event = { subscriptionId, topic, eventType: "x", payload: { project: "web" } };
        await call.send({ case: "eventDelivery", value: event });
        await new Promise<void>((resolve) => onAbort(call.signal, () => resolve()));
        return undefined;
      },
    });
    await using _running = await start(greeter, orchestrator);
    await orchestrator.hears("publish a b {}");
  });

  it("streams in order, and stops when it is cancelled or the stream breaks", async () => {
    const ended: PromiseWithResolvers<void>[] = [Promise.withResolvers(), Promise.withResolvers()];
    let next = 0;
    const plugin = definePlugin({
      ...about,
      tools: {
        forever: {
          description: "",
          async *stream() {
            const mine = ended[next++];
            try {
              for (let number = 0; ; number++) yield `${number} `;
            } finally {
              mine?.resolve();
            }
          },
        },
      },
    });
    await using orchestrator = await first.beside();
    await using running = await start(plugin, orchestrator);
    const client = orchestrator.dial(running.address, about.id);
    const begin = (streamId: string) =>
      ({ case: "streamStart", value: { streamId, toolName: "forever" } }) as const;
    let sequence = 0n;
    let text = "";
    let end: unknown;
    for await (const { response } of client.askForMany(begin("one"))) {
      if (response.case === "streamChunk") {
        assert.equal(response.value.sequence, sequence++);
        text += Buffer.from(response.value.data).toString();
        if (sequence === 5n) {
          await client.ask({ case: "streamCancel", value: { streamId: "one" } });
        }
      } else if (response.case === "streamEnd") end = response.value;
    }
    assert.match(text, /^0 1 2 3 4 /);
    const { success, errorCode, totalChunks } = end as Record<string, unknown>;
    assert.deepEqual(
      { success, errorCode, totalChunks },
      {
        success: false,
        errorCode: "cancelled",
        totalChunks: sequence,
      },
    );
    await ended[0]?.promise;
    for await (const _ of client.askForMany(begin("two"))) break;
    await ended[1]?.promise;
  });

  it("aborts a call whose caller has disconnected", async () => {
    const begun = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const plugin = definePlugin({
      ...about,
      tools: {
        wait: {
          description: "",
          call: async (_, { signal }) => {
            signal.addEventListener("abort", () => aborted.resolve());
            begun.resolve();
            await aborted.promise;
          },
        },
      },
    });
    await using orchestrator = await first.beside();
    await using running = await start(plugin, orchestrator);
    const client = orchestrator.dial(running.address, about.id);
    const controller = new AbortController();
    const value = { toolName: "wait" };
    const asked = assert.rejects(
      client.ask({ case: "toolCall", value }, { signal: controller.signal }),
    );
    await begun.promise;
    controller.abort(new Error("no longer wanted"));
    await asked;
    await aborted.promise;
  });

  it("waits for running calls on shutdown, and reports that it was clean", async () => {
    covers("bus.shutdown");
    const seen: string[] = [];
    const begun = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const plugin = definePlugin({
      ...about,
      tools: {
        slow: {
          description: "",
          call: async () => {
            begun.resolve();
            await finish.promise;
            seen.push("done");
            return "done";
          },
        },
      },
      shutdown: () => void seen.push("shutdown"),
    });
    await using orchestrator = await first.beside();
    await using running = await start(plugin, orchestrator);
    const client = orchestrator.dial(running.address, about.id);
    const called = client.ask({ case: "toolCall", value: { toolName: "slow" } });
    await begun.promise;
    const ended = client.ask({ case: "shutdown", value: { timeoutSeconds: 30 } });
    setImmediate(finish.resolve);
    assert.equal(answerOf("It", await ended, "shutdown").clean, true);
    assert.equal(answerOf("It", await called, "toolCall").success, true);
    assert.deepEqual(seen, ["done", "shutdown"]);
    await running.ended;
  });

  it("provides storage to others", async () => {
    const documents = new Map<string, { content: string; version: number }>();
    const plugin = definePlugin({
      ...about,
      storage: {
        notes: {
          read: (path) => documents.get(path),
          write: (path, content, { version }) => {
            const present = documents.get(path)?.version ?? 0;
            if (version !== undefined && version !== present) throw new Error("version conflict");
            documents.set(path, { content: Buffer.from(content).toString(), version: present + 1 });
            return present + 1;
          },
          delete: (path) => documents.delete(path),
          list: () => {
            throw new Error("cannot list");
          },
        },
      },
    });
    await using orchestrator = await first.beside();
    await using running = await start(plugin, orchestrator);
    const client = orchestrator.dial(running.address, about.id);
    const storageType = "notes";
    const write = async (expectedVersion: bigint) => {
      const value = { path: "a", content: Buffer.from("x"), expectedVersion, storageType };
      return answerOf("It", await client.ask({ case: "storageWrite", value }), "storageWrite");
    };
    assert.equal((await write(0n)).newVersion, 1n);
    assert.equal((await write(0n)).error, "version conflict");
    assert.equal((await write(-1n)).newVersion, 2n);
    const value = { path: "a", storageType };
    const read = async () =>
      answerOf("It", await client.ask({ case: "storageRead", value }), "storageRead");
    const { content, version } = await read();
    assert.deepEqual([Buffer.from(content).toString(), version], ["x", 2n]);
    const deleted = await client.ask({ case: "storageDelete", value });
    assert.equal(answerOf("It", deleted, "storageDelete").success, true);
    assert.equal((await read()).version, 0n);
    const listed = await client.ask({ case: "storageList", value: { storageType } });
    assert.throws(() => answerOf("It", listed, "storageList"), /cannot list/);
    const other = await client.ask({ case: "storageRead", value: { path: "a", storageType: "b" } });
    assert.throws(() => answerOf("It", other, "storageRead"), /no storage 'b' here, only: notes/);
  });

  it("serves over TLS if its address says so", async () => {
    await using orchestrator = await first.beside();
    await using running = await start(greeter, orchestrator, "tls://localhost:0");
    assert.match(running.address, /^tls:\/\/127\.0\.0\.1:\d+$/);
    const client = orchestrator.dial(running.address, about.id);
    const value = { toolName: "greet", arguments: { name: "Ada" } };
    const answer = await client.ask({ case: "toolCall", value });
    assert.deepEqual(answerOf("It", answer, "toolCall").result, { text: "Hello, Ada" });
  });

  it("forwards calls to its orchestrator under its own name, with the caller's session and project", async () => {
    const plugin = definePlugin({
      ...about,
      tools: {
        outer: {
          description: "",
          call: async (_, { callTool, caller, sessionId, project }) => {
            const { text } = await callTool("inner", { deep: true });
            return `${caller} ${sessionId} ${project} ${text}`;
          },
          async *stream(_, { callTool, provider, sessionId, project }) {
            yield `${provider} ${sessionId} ${project} `;
            yield (await callTool("inner", { deep: true })).text;
          },
        },
      },
    });
    await using orchestrator = await first.beside({
      toolCall: ({ toolName, callerPlugin, sessionId, project, traceParent, arguments: args }) => {
        if (toolName !== "inner") {
          return { case: "toolCall", value: failure(FAILURE.toolNotFound, toolName) };
        }
        const text = [callerPlugin, sessionId, project, traceParent, JSON.stringify(args)].join(
          " ",
        );
        return { case: "toolCall", value: { success: true, result: { text } } };
      },
    });
    await using running = await start(plugin, orchestrator);
    const client = orchestrator.dial(running.address, about.id);
    const caller = {
      callerPlugin: "transport.stdio",
      sessionId: "s-1",
      project: "/srv/app",
      traceParent: "00-ab-cd-01",
    };
    const answer = await client.ask({ case: "toolCall", value: { toolName: "outer", ...caller } });
    assert.deepEqual(answerOf("It", answer, "toolCall").result, {
      text: 'transport.stdio s-1 /srv/app tools.sample s-1 /srv/app 00-ab-cd-01 {"deep":true}',
    });
    const streamStart = { streamId: "s", toolName: "outer", provider: "p", ...caller };
    let said = "";
    for await (const { response } of client.askForMany({
      case: "streamStart",
      value: streamStart,
    })) {
      if (response.case === "streamChunk") said += Buffer.from(response.value.data).toString();
    }
    assert.equal(said, 'p s-1 /srv/app tools.sample s-1 /srv/app 00-ab-cd-01 {"deep":true}');
  });

  it("makes no certificates in a folder that is being removed", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-plugin-"));
    const { path: certsDir } = folder;
    const said = Promise.withResolvers<string>();
    await using _running = await startServing({
      parts: DefinedPlugin.take(greeter),
      flags: {
        orchestrator: "tls://localhost:9",
        listen: "tls://localhost:0",
        certsDir,
        isManifest: false,
      },
      transport: {
        connect,
        listen: async (...given) => {
          const listener = await listen(...given);
          for (const name of readdirSync(certsDir)) rmSync(join(certsDir, name));
          return listener;
        },
      },
      log: new Log("warn", (line) => said.resolve(line)),
    });
    assert.match(await said.promise, /There is no authority in/);
    assert.deepEqual(readdirSync(certsDir), []);
  });

  it("fails to start if it cannot listen, and says why", async () => {
    await using orchestrator = await first.beside();
    await assert.rejects(start(greeter, orchestrator, "nonsense"), /Cannot read the address/);
    await assert.rejects(start(greeter, orchestrator, "no.such.host.invalid:1"), /no\.such\.host/);
  });
});

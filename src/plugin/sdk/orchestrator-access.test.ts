import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Log } from "../../base/log.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { BusHandlers } from "../../protocol/bus/serve.ts";
import { connect, listen } from "../../wire/quic/transport.ts";
import { BusClient } from "../../protocol/bus/connect.ts";
import { definePlugin } from "./define-plugin.ts";
import { DefinedPlugin } from "./defined-plugin.ts";
import { orchestratorAccess } from "./orchestrator-access.ts";
import { startServing } from "./serve/serve-program.ts";
import { retainedBy } from "../../../test/support/retained-heap.ts";
import { SampleOrchestrator } from "../../../test/samples/sample-orchestrator.ts";

const plugin = definePlugin({
  id: "tools.asking",
  version: "1.0.0",
  tools: {
    ask: {
      description: "Calls another tool so many times at once",
      input: { type: "object", properties: { times: { type: "number" } } },
      call: async ({ times = 1 }, { callTool }) => {
        const all = Array.from({ length: times }, () => callTool("other"));
        return (await Promise.all(all)).map(({ text }) => text).join(" ");
      },
    },
  },
});

/** The plugin, and an orchestrator that answers as told. */
async function start(handlers: BusHandlers) {
  const stack = new AsyncDisposableStack();
  const first = stack.use(await SampleOrchestrator.open());
  const orchestrator = stack.use(await first.beside(handlers));
  const running = stack.use(
    await startServing({
      parts: DefinedPlugin.take(plugin),
      flags: {
        orchestrator: orchestrator.address,
        listen: "localhost:0",
        certsDir: orchestrator.certsDir,
        isManifest: false,
      },
      transport: { listen, connect },
      log: new Log("error", () => {}),
    }),
  );
  const client = orchestrator.dial(running.address, "tools.asking");
  const ask = async (times: number) => {
    const value = { toolName: "ask", arguments: { times } };
    return answerOf("It", await client.ask({ case: "toolCall", value }), "toolCall");
  };
  return { ask, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe("requests of a plugin to its orchestrator", { timeout: 60_000 }, () => {
  it("wait until the plugin is registered", async () => {
    const heard: string[] = [];
    const registering = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    await using bus = await start({
      register: async () => {
        registering.resolve();
        await goOn.promise;
        heard.push("registered");
        return { case: "register", value: { accepted: true } };
      },
      toolCall: () => {
        heard.push("called");
        return { case: "toolCall", value: { success: true, result: { text: "done" } } };
      },
    });
    await registering.promise;
    const asked = bus.ask(1);
    // Time for a call that does not wait to come through.
    await new Promise((resolve) => setTimeout(resolve, 200));
    goOn.resolve();
    assert.equal((await asked).result?.text, "done");
    assert.deepEqual(heard, ["registered", "called"]);
  });

  it("are limited in number for one handler", async () => {
    let [running, most] = [0, 0];
    await using bus = await start({
      toolCall: async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running--;
        return { case: "toolCall", value: { success: true, result: { text: "x" } } };
      },
    });
    assert.equal((await bus.ask(50)).result?.text, Array.from({ length: 50 }, () => "x").join(" "));
    assert.ok(most > 1 && most <= 8, `${most} at once`);
  });
});

describe("the context of a handler", () => {
  const dial = () => Promise.reject(new Error("Nobody is there"));
  const client = new BusClient({ name: "It", dial });
  const log = new Log("error", () => {});
  const outside = orchestratorAccess({ id: "tools.sample", client, log, storageType: "" });

  it("has its getters in copies, behind a proxy and below other objects too", () => {
    const controller = new AbortController();
    const context = outside.callContext(controller.signal, { name: "t", project: "/p" });
    const all = [context, { ...context }, new Proxy(context, {}), Object.create(context)];
    for (const { signal, storage, caller, project } of all as (typeof context)[]) {
      assert.equal(signal, controller.signal);
      assert.equal(typeof storage.read, "function");
      assert.deepEqual([caller, project], ["", "/p"]);
    }
    const names = ["callTool", "caller", "log", "project", "publish", "signal", "storage"];
    assert.deepEqual(Object.keys(context).toSorted(), names);
  });

  it("is gone with its call after a collection of the young heap", () => {
    const { bytes, limit } = retainedBy(
      (words) => outside.callContext(new AbortController().signal, { name: "t", args: { words } }),
      () => {},
    );
    assert.ok(bytes < limit, `${bytes} bytes are left`);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { keepEngine, TestPair } from "../../../test/support/quic-pair.ts";
import { until } from "../../../test/support/until.ts";
import { type BusHandlers, serveExchange } from "../../protocol/bus/serve.ts";
import { type PluginLink, pluginLink } from "./plugin-link.ts";
import { DEFAULT_PLUGIN_LIMITS, type PluginLimits } from "./settings.ts";

const CALL = { case: "toolCall", value: { toolName: "wait" } } as const;
const HEALTH = { case: "health", value: {} } as const;
const OF_CLIENT = { isNested: false };
const OF_PLUGIN = { isNested: true };

/** A plugin that lets so few exchanges run on a connection, and calls wait until they are let go. */
class SamplePlugin implements AsyncDisposable {
  readonly link: PluginLink;
  readonly #pair: TestPair;
  readonly #waiting: (() => void)[];

  private constructor(pair: TestPair, waiting: (() => void)[], limits: Partial<PluginLimits>) {
    this.#pair = pair;
    this.#waiting = waiting;
    this.link = pluginLink({
      id: "sample",
      dial: () => pair.connect(),
      limits: { ...DEFAULT_PLUGIN_LIMITS, ...limits },
    });
  }

  static async open(limits: Partial<PluginLimits> = {}, maxStreams = 70): Promise<SamplePlugin> {
    const waiting: (() => void)[] = [];
    const handlers: BusHandlers = {
      health: () => ({ case: "health", value: { message: "well" } }),
      shutdown: () => ({ case: "shutdown", value: { clean: true } }),
      toolCall: () =>
        new Promise((resolve) => {
          waiting.push(() => resolve({ case: "toolCall", value: { success: true } }));
        }),
    };
    const service = { handlers, report: () => {} };
    const pair = await TestPair.open({
      listen: { limits: { maxStreams } },
      handle: (stream, connection) => serveExchange(stream, connection, service),
    });
    return new SamplePlugin(pair, waiting, limits);
  }

  /** Waits until so many calls have come to the plugin. */
  async reached(calls: number): Promise<void> {
    await until(() => this.#waiting.length >= calls);
  }

  get connections(): number {
    return this.#pair.accepted.length;
  }

  letGo(): void {
    for (const answer of this.#waiting.splice(0)) answer();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.letGo();
    await this.link[Symbol.asyncDispose]();
    await this.#pair[Symbol.asyncDispose]();
  }
}

describe("PluginLink", { timeout: 60_000 }, () => {
  keepEngine();

  it("checks health however many calls run", async () => {
    await using plugin = await SamplePlugin.open({ calls: 8 }, 4);
    const calls = Array.from({ length: 8 }, () => plugin.link.ask(CALL, OF_CLIENT));
    await plugin.reached(4);
    const { response } = await plugin.link.control.ask(HEALTH);
    assert.equal(response.case, "health");
    while (plugin.link.running > 0) {
      plugin.letGo();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await Promise.all(calls);
  });

  it("makes calls of clients wait for slots, in order, and calls of plugins never", async () => {
    await using plugin = await SamplePlugin.open({ calls: 2 });
    const first = Array.from({ length: 3 }, () => plugin.link.ask(CALL, OF_CLIENT));
    await plugin.reached(2);
    assert.deepEqual([plugin.link.running, plugin.link.waiting], [2, 1]);
    const nested = Array.from({ length: 10 }, () => plugin.link.ask(CALL, OF_PLUGIN));
    await plugin.reached(12);
    assert.deepEqual([plugin.link.running, plugin.link.waiting], [12, 1]);
    plugin.letGo();
    await Promise.all(nested);
    await plugin.reached(1);
    plugin.letGo();
    await Promise.all(first);
    assert.deepEqual([plugin.link.running, plugin.link.waiting], [0, 0]);
  });

  it("opens further connections if the plugin limits the streams of one", async () => {
    await using plugin = await SamplePlugin.open({});
    const nested = Array.from({ length: 200 }, () => plugin.link.ask(CALL, OF_PLUGIN));
    await plugin.reached(200);
    assert.equal(plugin.connections, 4);
    plugin.letGo();
    await Promise.all(nested);
  });

  it("refuses calls of plugins over the limit at once, with a message", async () => {
    await using plugin = await SamplePlugin.open({ nestedCalls: 1 });
    const first = plugin.link.ask(CALL, OF_PLUGIN);
    await assert.rejects(plugin.link.ask(CALL, OF_PLUGIN), {
      code: "limit",
      message: /^Plugin 'sample' already answers 1 calls that plugins have made\./,
    });
    await plugin.reached(1);
    plugin.letGo();
    await first;
  });

  it("stops waiting for a slot after its time, or when cancelled", async () => {
    await using plugin = await SamplePlugin.open({ calls: 1, call: 300 });
    const held = plugin.link.ask(CALL, OF_CLIENT);
    held.catch(() => {});
    const controller = new AbortController();
    const stopped = plugin.link.ask(CALL, { ...OF_CLIENT, signal: controller.signal });
    controller.abort(new Error("never mind"));
    await assert.rejects(stopped, /never mind/);
    await assert.rejects(plugin.link.ask(CALL, OF_CLIENT), { code: "timeout" });
  });

  it("refuses calls of clients at once if too many wait", async () => {
    await using plugin = await SamplePlugin.open({ calls: 1, queue: 1 });
    const both = [plugin.link.ask(CALL, OF_CLIENT), plugin.link.ask(CALL, OF_CLIENT)];
    await assert.rejects(plugin.link.ask(CALL, OF_CLIENT), {
      code: "limit",
      message: /^Plugin 'sample' answers 1 calls, and 1 more wait for it\. .*'queue'/,
    });
    // Those of plugins do not wait, so the queue is not theirs.
    const nested = plugin.link.ask(CALL, OF_PLUGIN);
    await plugin.reached(2);
    plugin.letGo();
    await nested;
    await plugin.reached(1);
    plugin.letGo();
    await Promise.all(both);
  });

  it("asks its successor what was still waiting when it ended", async () => {
    await using plugin = await SamplePlugin.open({ calls: 1 });
    await using next = await SamplePlugin.open();
    const running = plugin.link.ask(CALL, OF_CLIENT);
    const waiting = plugin.link.ask(CALL, OF_CLIENT);
    await plugin.reached(1);
    const drained = plugin.link.drain(30_000, new Error("It ends"), async () => next.link);
    await next.reached(1);
    next.letGo();
    assert.equal((await waiting).response.case, "toolCall");
    plugin.letGo();
    await running;
    await drained;
  });

  it("lets running calls finish before it ends, and refuses waiting ones", async () => {
    await using plugin = await SamplePlugin.open({ calls: 1 });
    const running = plugin.link.ask(CALL, OF_CLIENT);
    const waiting = plugin.link.ask(CALL, OF_CLIENT);
    await plugin.reached(1);
    const drained = plugin.link.drain(30_000, new Error("It is being ended"));
    await assert.rejects(waiting, /It is being ended/);
    plugin.letGo();
    assert.equal((await running).response.case, "toolCall");
    assert.ok((await drained) <= 30_000);
  });
});

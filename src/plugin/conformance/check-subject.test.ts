import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { create } from "@bufbuild/protobuf";

import { onAbort } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { Log } from "../../base/log.ts";
import { encodeResponse } from "../../protocol/bus/codec.ts";
import { BusClient } from "../../protocol/bus/connect.ts";
import { failure } from "../../protocol/bus/failure.ts";
import { PluginManifestSchema } from "../../protocol/bus/plugin.gen.ts";
import { type BusHandlers, serveExchange } from "../../protocol/bus/serve.ts";
import type { BidiStream, Connection } from "../../wire/quic/connection.ts";
import { DefinedPlugin } from "../sdk/defined-plugin.ts";
import { definePlugin } from "../sdk/define-plugin.ts";
import { orchestratorAccess } from "../sdk/orchestrator-access.ts";
import { RunningCalls } from "../sdk/serve/running-calls.ts";
import {
  deliverTo,
  serveEvents,
  serveLifecycle,
  servePrompts,
  serveStreams,
  serveTools,
} from "../sdk/serve/plugin-service.ts";
import { memoryConnection } from "../sdk/test/memory-connection.ts";
import { MemoryStorage } from "../sdk/test/memory-orchestrator.ts";
import { serveStorage } from "../storage/serve-storage.ts";
import { checkSubject, type Outcome, RULES } from "./check-subject.ts";
import type { Subject } from "./probe.ts";

type Serve = (stream: BidiStream, connection: Connection) => void;

/** Milliseconds for a rule of a program that may be broken, and of one that is not. */
const BRIEF = 100;
const LONG = 60_000;

const TEXT = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
} as const;

/** Handlers of a plugin that keeps every rule. */
function goodHandlers(): BusHandlers {
  const plugin = definePlugin({
    id: "tools.good",
    version: "1.0.0",
    tools: {
      say: { description: "Says it", input: TEXT, call: ({ text }) => text },
      count: {
        description: "Counts until it is cancelled, or to three",
        async *stream(_: object, { signal }) {
          for (let count = 0; count < 3 && !signal.aborted; count++) yield `${count}`;
        },
      },
    },
  });
  const parts = DefinedPlugin.take(plugin);
  const log = new Log("error", () => {});
  const client = new BusClient({ name: "Nobody", dial: () => Promise.reject(new Error("none")) });
  const outside = orchestratorAccess({ id: "tools.good", client, log, storageType: "" });
  const service = { tools: parts.tools, outside, calls: new RunningCalls(), log };
  const storage = new MemoryStorage();
  const shutdown = async (): Promise<boolean> => true;
  return {
    ...serveTools(service),
    ...serveStreams(service),
    ...servePrompts(parts.prompts, service),
    ...serveEvents(deliverTo(parts.events, service), service),
    ...serveLifecycle(parts, service, shutdown),
    ...serveStorage({ storageFor: () => storage, report: () => {} }),
  };
}

const exchanges =
  (handlers: BusHandlers): Serve =>
  (stream, connection) =>
    background(
      serveExchange(stream, connection, { handlers, report: () => {} }),
      "Answering a test",
    );

const MANIFEST = create(PluginManifestSchema, {
  id: "tools.good",
  providesTools: ["say", "count"],
  providesStorage: ["memory"],
});

/** A program in memory. The network that refuses strangers is the only part that is played. */
function subject(serve: Serve = exchanges(goodHandlers()), given: Partial<Subject> = {}): Subject {
  const dial = () => memoryConnection(serve);
  return {
    role: "plugin",
    name: "A plugin",
    dial,
    dialAs: () => Promise.reject(new Error("refused")),
    call: { name: "say", args: { text: "hello" } },
    stream: { name: "count", args: {} },
    started: {
      printed: async () => '{ "id": "tools.good", "provides_tools": ["say", "count"] }',
      registered: Promise.resolve(MANIFEST),
      exit: Promise.resolve(0),
    },
    ...given,
  };
}

async function outcomes(
  of: Subject,
  patience = LONG,
  rules = RULES,
): Promise<ReadonlyMap<string, Outcome>> {
  const found = new Map<string, Outcome>();
  for await (const outcome of checkSubject(of, { patience, rules }))
    found.set(outcome.rule, outcome);
  return found;
}

const withHandlers = (changed: (good: BusHandlers) => BusHandlers): Subject => {
  const good = goodHandlers();
  return subject(exchanges({ ...good, ...changed(good) }));
};

const started = (changed: Partial<NonNullable<Subject["started"]>>): Subject => {
  const good = subject();
  assert.ok(good.started !== undefined);
  return { ...good, started: { ...good.started, ...changed } };
};

const refusal = { case: "toolCall", value: failure("no", "") } as const;

/** Reads the whole request, and answers with bytes of its own. */
const answering =
  (answer: (request: Buffer) => Uint8Array): Serve =>
  (stream) =>
    void stream
      .readAll(1 << 20)
      .then((request) => stream.end(answer(request)))
      // Whoever asked has gone.
      .catch(() => {});

/** Keeps all rules until it hears of a reset, and answers nothing then. */
const silentAfterReset = (): Serve => {
  let isSilent = false;
  const good = exchanges(goodHandlers());
  return (stream, connection) => {
    if (isSilent) return;
    onAbort(stream.signal, () => (isSilent = true));
    good(stream, connection);
  };
};

/** Serves one exchange after the other: the next one waits until the one before has ended. */
const oneByOne = (): Serve => {
  let before: Promise<unknown> = Promise.resolve();
  const good = goodHandlers();
  return (stream, connection) => {
    const service = { handlers: good, report: () => {} };
    before = before.then(() => serveExchange(stream, connection, service));
    background(before, "Answering a test");
  };
};

/** Reads so many bytes of a request, and never gives room for more. */
const takingOnly =
  (most: number): Serve =>
  async (stream) => {
    let size = 0;
    for await (const bytes of stream.chunks()) {
      size += bytes.length;
      if (size > most) await new Promise<never>(() => {});
    }
  };

/** Answers so many exchanges, and then no more. */
const few = (most: number): Serve => {
  let count = 0;
  const good = exchanges(goodHandlers());
  return (stream, connection) => {
    if (++count <= most) good(stream, connection);
  };
};

const noId = encodeResponse({ requestId: "", response: { case: "listTools", value: {} } });
const tools = (...list: { name: string; inputSchema?: { type: string } }[]): Subject =>
  withHandlers(() => ({ listTools: () => ({ case: "listTools", value: { tools: list } }) }));
const written = { success: true, newVersion: 1n };

/** For each rule a program that breaks it. */
const BROKEN: Readonly<Record<string, () => Subject>> = {
  "plugin.manifest": () => started({ printed: async () => "hello" }),
  "plugin.dial-back": () => started({ registered: Promise.resolve(create(PluginManifestSchema)) }),
  "plugin.same": () => started({ printed: async () => '{ "id": "tools.good" }' }),
  "plugin.register": () =>
    withHandlers(() => ({ register: () => ({ case: "register", value: { accepted: false } }) })),
  "plugin.boot": () =>
    withHandlers(() => ({ boot: () => ({ case: "boot", value: { ready: false } }) })),
  "plugin.provides": () => tools({ name: "say" }),
  "orchestrator.register": () => ({
    ...withHandlers(() => ({ register: () => ({ case: "register", value: { accepted: false } }) })),
    role: "orchestrator",
  }),
  "request.id": () => subject(answering(() => noId)),
  "request.empty": () => subject(answering(() => noId)),
  "request.unknown": () => subject(answering(() => noId)),
  "request.unknown-fields": () => withHandlers(() => ({ listTools: () => refusal })),
  health: () => withHandlers(() => ({ health: () => ({ case: "health", value: {} }) })),
  "prompts.unknown": () =>
    withHandlers(() => ({ promptGet: () => ({ case: "promptGet", value: {} }) })),
  "events.publish": () => withHandlers(() => ({ publish: () => new Promise<never>(() => {}) })),
  "tools.list": () => tools({ name: "a" }, { name: "a" }),
  "tools.call": () => withHandlers(() => ({ toolCall: () => refusal })),
  "tools.unknown": () =>
    withHandlers(() => ({ toolCall: () => ({ case: "toolCall", value: { success: true } }) })),
  "tools.arguments": () =>
    withHandlers(() => ({ toolCall: () => ({ case: "toolCall", value: { success: true } }) })),
  "tools.concurrent": () => subject(few(20)),
  "tools.cancel": () => subject(silentAfterReset()),
  "stream.unknown": () =>
    withHandlers(() => ({
      streamStart: () => ({ case: "streamEnd", value: { success: true } }),
    })),
  "stream.chunks": () =>
    withHandlers(() => ({
      streamStart: async ({ streamId }, call) => {
        await call.send({ case: "streamChunk", value: { streamId, sequence: 1n } });
        return { case: "streamEnd", value: { success: true, totalChunks: 1n } };
      },
    })),
  "stream.cancel": () =>
    withHandlers(() => ({
      streamStart: async ({ streamId }, call) => {
        await call.send({ case: "streamChunk", value: { streamId } });
        return new Promise<never>(() => {});
      },
    })),
  "storage.missing": () =>
    withHandlers(() => ({ storageRead: () => ({ case: "storageRead", value: { version: 1n } }) })),
  "storage.create": () =>
    withHandlers(() => ({
      storageWrite: () => ({ case: "storageWrite", value: { success: false } }),
    })),
  "storage.version": () =>
    withHandlers(() => ({ storageWrite: () => ({ case: "storageWrite", value: written }) })),
  "storage.list": () =>
    withHandlers(() => ({ storageList: () => ({ case: "storageList", value: {} }) })),
  "storage.delete": () =>
    withHandlers(() => ({ storageDelete: () => ({ case: "storageDelete", value: {} }) })),
  "tls.alpn": () => subject(undefined, { dialAs: subject().dial }),
  "tls.authority": () => subject(undefined, { dialAs: subject().dial }),
  "tls.certificate": () => subject(undefined, { dialAs: subject().dial }),
  // It answers what fits into the first window, and takes no more.
  "stream.room": () => subject(takingOnly(200_000)),
  "frame.layout": () => subject(answering(() => Buffer.from([0, 0, 0, 9, 1]))),
  "frame.malformed": () => subject(answering(() => noId)),
  "frame.truncated": () => subject(answering(() => noId)),
  "frame.limit": () => subject(answering(() => noId)),
  "stream.unfinished": () => subject(oneByOne()),
  "stream.aborted": () => subject(silentAfterReset()),
  "stream.many": () => subject(few(100)),
  "stream.concurrent": () => subject(few(20)),
  "plugin.shutdown": () => started({ exit: new Promise<never>(() => {}) }),
};

/** The rules that are broken by never answering. */
const LATE: ReadonlySet<string> = new Set([
  ...["events.publish", "tools.concurrent", "tools.cancel", "stream.cancel", "stream.unfinished"],
  ...[
    "stream.room",
    "stream.aborted",
    "stream.many",
    "stream.concurrent",
    "frame.limit",
    "plugin.shutdown",
  ],
]);

describe("checkSubject()", () => {
  it("finds nothing wrong with a plugin that keeps the rules", async () => {
    const found = await outcomes(subject());
    const others = [...found.values()].filter(({ outcome }) => outcome !== "passed");
    assert.deepEqual(others, []);
    assert.equal(found.size, RULES.filter(({ role }) => role !== "orchestrator").length);
  });

  it("finds a plugin that registers as another, or lists tools that its manifest lacks", async () => {
    const why = async (of: Subject, rule: string) => {
      const rules = RULES.filter(({ id }) => id === rule);
      return (await outcomes(of, LONG, rules)).get(rule)?.why;
    };
    const other = create(PluginManifestSchema, { id: "tools.other" });
    const stranger = started({ registered: Promise.resolve(other) });
    assert.match(
      (await why(stranger, "plugin.same")) ?? "",
      /as 'tools.other', and prints 'tools.good'/,
    );
    const more = tools({ name: "say" }, { name: "count" }, { name: "rm" });
    assert.equal(await why(more, "plugin.provides"), "these are not in the manifest: rm");
  });

  it("checks an orchestrator by its own rules, and says what it could not check", async () => {
    const good = subject();
    const found = await outcomes({
      ...{ role: "orchestrator", name: "It", dial: good.dial },
      asPlugin: { id: "tools.good", dial: good.dial },
    });
    assert.equal(found.get("orchestrator.register")?.outcome, "passed");
    assert.equal(found.get("storage.version")?.outcome, "passed");
    assert.equal(found.has("plugin.boot"), false);
    assert.deepEqual(
      [found.get("tools.call")?.outcome, found.get("tools.call")?.why],
      ["skipped", "name a tool that may be called, with --tool and --args"],
    );
  });

  it("has a program for each rule that breaks it", () => {
    assert.deepEqual(Object.keys(BROKEN).toSorted(), RULES.map(({ id }) => id).toSorted());
  });

  for (const rule of RULES) {
    it(`finds out who breaks '${rule.id}'`, async () => {
      const broken = BROKEN[rule.id]?.() ?? subject();
      const { dial } = broken;
      const asPlugin = { id: "tools.good", dial };
      const isLate = LATE.has(rule.id);
      const found = await outcomes({ ...broken, asPlugin }, isLate ? BRIEF : LONG, [rule]);
      const { outcome, why = "" } = found.get(rule.id) ?? {};
      assert.equal(outcome, "failed", why);
      assert.equal(why.startsWith("it took more than"), isLate, why);
    });
  }
});

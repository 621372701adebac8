import assert from "node:assert/strict";
import { mkdtempDisposable, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Log } from "../base/log.ts";
import { answerOf } from "../protocol/bus/answer.ts";
import { PLUGIN_UNIT } from "../protocol/bus/certificates/certificates.ts";
import { BusClient } from "../protocol/bus/connect.ts";
import { Offer } from "../tool/offer/offer.ts";
import { Policy, type PolicyRule } from "../tool/policy.ts";
import { keepEngine } from "../../test/support/quic-pair.ts";
import { sampleTool } from "../../test/samples/sample-context.ts";
import { textResult } from "../tool/tool.ts";
import { connect, listen } from "../wire/quic/transport.ts";
import { type BusCertificates, busCertificates } from "./bus-certificates.ts";
import { openOrchestrator, type Orchestrator } from "./orchestrator.ts";

const RULES: readonly PolicyRule[] = [
  { tool: "secret", decision: "deny" },
  { tool: "files", project: "/srv/locked", decision: "deny" },
];

/** A bus without plugins, with tools of the program, over real QUIC. */
class Bus implements AsyncDisposable {
  readonly offer = new Offer({
    policy: new Policy({ default: "allow", rules: RULES }),
  });
  readonly logged: string[] = [];
  readonly #stack: AsyncDisposableStack;
  readonly #certificates: BusCertificates;
  #orchestrator: Orchestrator | undefined;

  private constructor(stack: AsyncDisposableStack, folder: string) {
    this.#stack = stack;
    this.#certificates = busCertificates(folder, assert.fail);
    for (const name of ["clock", "files", "secret"]) {
      this.offer.tools.add(
        sampleTool(name, (args) => textResult(`${name} ${JSON.stringify(args)}`)),
      );
    }
  }

  static async open(address = "localhost:0"): Promise<Bus> {
    const stack = new AsyncDisposableStack();
    const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "trunkline-bus-")));
    const bus = new Bus(stack, folder.path);
    bus.#orchestrator = stack.use(
      await openOrchestrator({
        listen: address,
        certsDir: folder.path,
        clientCertificate: "require",
        offer: bus.offer,
        storage: {},
        transport: { listen, connect },
        log: new Log("info", (line) => bus.logged.push(line)),
      }),
    );
    return bus;
  }

  get orchestrator(): Orchestrator {
    assert.ok(this.#orchestrator);
    return this.#orchestrator;
  }

  /** Somebody with a certificate of that name, of a plugin if it says so. */
  guest(name: string, unit?: string): BusClient {
    return this.#stack.use(
      new BusClient({
        name: "The bus",
        dial: async () =>
          connect(this.#orchestrator?.address ?? "", {
            credentials: await this.#certificates.of(name, { unit }),
          }),
      }),
    );
  }

  async removeCertificates(): Promise<void> {
    const { folder } = this.#certificates;
    for (const name of await readdir(folder)) {
      if (/\.(?:crt|key)$/.test(name)) await rm(join(folder, name));
    }
  }

  /** Gives it a plugin of that id. */
  async configure(id: string): Promise<void> {
    const nothing = { args: [], env: {}, config: {}, providesStorage: [], providesAi: [] };
    const plugin = { ...nothing, id, binary: "/bin/false", dependsOn: [] };
    await this.#orchestrator?.configure([plugin]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

async function register(client: BusClient, id: string, needsTools: string[]) {
  const answer = await client.ask({ case: "register", value: { id, needsTools } });
  return answerOf("It", answer, "register");
}

async function call(client: BusClient, toolName: string) {
  const answer = await client.ask({ case: "toolCall", value: { toolName, arguments: { n: 1 } } });
  return answerOf("It", answer, "toolCall");
}

async function toolsOf(client: BusClient): Promise<string[]> {
  const answer = await client.ask({ case: "listTools", value: {} });
  return answerOf("It", answer, "listTools").tools.map(({ name }) => name);
}

describe("Orchestrator", { timeout: 600_000 }, () => {
  keepEngine();

  it("lets a plugin call the tools that it needs, and no others of Trunkline", async () => {
    await using bus = await Bus.open();
    const plugin = bus.guest("notes-client");
    assert.equal((await register(plugin, "notes", ["clock"])).accepted, true);
    assert.deepEqual(await toolsOf(plugin), ["clock"]);
    assert.equal((await call(plugin, "clock")).result?.text, 'clock {"n":1}');
    const { success, errorCode, errorMessage } = await call(plugin, "files");
    assert.deepEqual([success, errorCode], [false, "untrusted"]);
    assert.match(errorMessage, /needs_tools/);
  });

  it("lets other programs call and list what the policy allows, and nothing else", async () => {
    await using bus = await Bus.open();
    const guest = bus.guest("transport.stdio-client");
    assert.deepEqual(await toolsOf(guest), ["clock", "files"]);
    assert.equal((await call(guest, "files")).success, true);
    const { success, errorMessage } = await call(guest, "secret");
    assert.equal(success, false);
    assert.match(errorMessage, /policy does not let transport.stdio call 'secret'/);
    assert.equal((await call(guest, "nothing")).errorCode, "tool_not_found");
  });

  it("lets an unregistered plugin call nothing", async () => {
    await using bus = await Bus.open();
    const plugin = bus.guest("notes-client", PLUGIN_UNIT);
    assert.deepEqual(await toolsOf(plugin), []);
    const { errorCode, errorMessage } = await call(plugin, "clock");
    assert.equal(errorCode, "untrusted");
    assert.match(errorMessage, /needs_tools/);
    // Nor can it make more of itself by the name of a bridge.
    const posing = bus.guest("transport.notes-client", PLUGIN_UNIT);
    assert.equal((await call(posing, "clock")).errorCode, "untrusted");
  });

  it("lets a program that is neither plugin nor bridge call none of Trunkline's tools", async () => {
    await using bus = await Bus.open();
    const stranger = bus.guest("stranger-client");
    assert.deepEqual(await toolsOf(stranger), []);
    const { errorCode, errorMessage } = await call(stranger, "clock");
    assert.equal(errorCode, "untrusted");
    assert.match(errorMessage, /not that of a bridge.*'transport\.NAME-client'/);
  });

  it("lets programs in with certificates of an authority that has replaced the one before", async () => {
    await using bus = await Bus.open();
    await bus.removeCertificates();
    // Its certificate is of an authority that it makes itself, in the same folder.
    const guest = bus.guest("transport.stdio-client");
    let tools: string[] | undefined;
    while (tools === undefined) {
      tools = await toolsOf(guest).catch(() => undefined);
      await delay(10);
    }
    assert.deepEqual(tools, ["clock", "files"]);
  });

  it("refuses a plugin with the id of another program of the bus", async () => {
    await using bus = await Bus.open();
    for (const id of [
      "orchestrator",
      "trunkline-control",
      "transport.stdio",
      "tools.test-client",
    ]) {
      const message = new RegExp(`^Cannot have a plugin '${id}'.*Rename it\\.$`);
      await assert.rejects(bus.configure(id), { name: "TrunklineError", message });
    }
  });

  it("refuses endless manifests and subscriptions", async () => {
    await using bus = await Bus.open();
    const guest = bus.guest("notes-client");
    const needs = Array.from({ length: 10_001 }, (_, number) => `tool${number}`);
    const { accepted, rejectReason } = await register(guest, "notes", needs);
    assert.deepEqual([accepted, rejectReason.includes("at most 10000 entries")], [false, true]);
    const subscriptions = Array.from({ length: 257 }, (_, number) =>
      guest.askForMany({
        case: "subscribe",
        value: { subscriptionId: `s${number}`, topic: "notes" },
      }),
    );
    const kinds: unknown[] = [];
    for (const events of subscriptions) kinds.push((await events.next()).value?.response.case);
    assert.deepEqual([kinds.indexOf("toolCall"), kinds.at(-2)], [256, "eventDelivery"]);
    await Promise.all(subscriptions.map((events) => events.return()));
  });

  it("refuses to register a plugin under another's name", async () => {
    await using bus = await Bus.open();
    const { accepted, rejectReason } = await register(bus.guest("mallory-client"), "notes", ["*"]);
    assert.deepEqual([accepted, rejectReason], [false, "the certificate is that of 'mallory'"]);
  });

  it("delivers events on the stream of the subscription, with the true name of their source", async () => {
    await using bus = await Bus.open();
    const [reader, writer] = [bus.guest("reader-client"), bus.guest("writer-client")];
    const value = { subscriptionId: "s", topic: "notes", filters: { kind: "new" } };
    const events = reader.askForMany({ case: "subscribe", value });
    const first = (await events.next()).value;
    assert.equal(first?.response.case, "eventDelivery");
    for (const kind of ["old", "new"]) {
      const payload = { kind };
      const published = {
        topic: "notes",
        eventType: "saved",
        payload,
        sourcePlugin: "somebody else",
      };
      await writer.ask({ case: "publish", value: published });
    }
    const { response } = (await events.next()).value ?? assert.fail("no event");
    assert.equal(response.case, "eventDelivery");
    const { payload, sourcePlugin, eventType } = response.value as Record<string, unknown>;
    assert.deepEqual(
      { payload, sourcePlugin, eventType },
      {
        ...{ payload: { kind: "new" }, sourcePlugin: "writer", eventType: "saved" },
      },
    );
    await events.return();
  });

  it("answers in one piece for a tool that does not stream", async () => {
    await using bus = await Bus.open();
    const value = { streamId: "one", toolName: "clock", arguments: { n: 2 } };
    const bridge = bus.guest("transport.test-client");
    const answers = bridge.askForMany({ case: "streamStart", value });
    const kinds: unknown[] = [];
    for await (const { response } of answers) {
      if (response.case === "streamChunk") kinds.push(Buffer.from(response.value.data).toString());
      if (response.case === "streamEnd") kinds.push(response.value.totalChunks);
    }
    assert.deepEqual(kinds, ['clock {"n":2}', 1n]);
  });

  it("applies policy rules for the project that a call names", async () => {
    await using bus = await Bus.open();
    const guest = bus.guest("transport.stdio-client");
    const projects = ["/srv/locked", "/srv/locked/deep", "/srv/other", "srv/locked", ""];
    const called = projects.map(async (project) => {
      const answer = await guest.ask({ case: "toolCall", value: { toolName: "files", project } });
      return answerOf("It", answer, "toolCall").success;
    });
    assert.deepEqual(await Promise.all(called), [false, false, true, true, true]);
    for (const [project, isAllowed] of [
      ["/srv/locked", false],
      ["/srv/other", true],
    ] as const) {
      const value = { streamId: project, toolName: "files", project };
      for await (const { response } of guest.askForMany({ case: "streamStart", value })) {
        if (response.case === "streamEnd") assert.equal(response.value.success, isAllowed);
      }
    }
  });

  it("keeps the tools of `trunkline plugin` from everybody else", async () => {
    await using bus = await Bus.open();
    const tool = "trunkline.plugins.list";
    const { success, errorCode } = await call(bus.guest("mallory-client"), tool);
    assert.deepEqual([success, errorCode], [false, "untrusted"]);
    assert.deepEqual((await call(bus.guest("trunkline-control"), tool)).result, { plugins: [] });
  });
});

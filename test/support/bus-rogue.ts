// A plugin that keeps to no rule but the wire's. It does not register, and does with its certificates
// what its tool `attack` is told to do.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toJson } from "@bufbuild/protobuf";

import { readFlags } from "../../src/plugin/sdk/flags.ts";
import { Certificates } from "../../src/protocol/bus/certificates/certificates.ts";
import { issueLeaf, newKey } from "../../src/protocol/bus/certificates/issue.ts";
import { bodyOf, decodeRequest, encodeResponse } from "../../src/protocol/bus/codec.ts";
import { BusClient } from "../../src/protocol/bus/connect.ts";
import { PluginResponseSchema } from "../../src/protocol/bus/plugin.gen.ts";
import type { BusHandlers } from "../../src/protocol/bus/serve.ts";
import { connect, listen } from "../../src/wire/quic/transport.ts";
import { encodeFrame, MAX_FRAME } from "../../src/wire/framing/length-prefixed.ts";
import type { BidiStream, Credentials } from "../../src/wire/quic/connection.ts";

const { BUS_ID = "rogue", BUS_ROGUE } = process.env;
const flags = readFlags(process.argv.slice(2));

if (BUS_ROGUE === "own-authority" && !existsSync(join(flags.certsDir, "ca.key"))) {
  // As Orchestra's SDK does where it finds no key of an authority.
  const other = join(flags.certsDir, "other");
  await new Certificates(other).trusted();
  for (const name of ["ca.crt", "ca.key"]) {
    const path = join(flags.certsDir, name);
    writeFileSync(path, readFileSync(join(other, name)));
    chmodSync(path, 0o600);
  }
}

/** A certificate as it lies there, whoever made it; else one that it makes itself, if it can. */
async function credentialsOf(name: string): Promise<Credentials> {
  const read = (file: string): string => readFileSync(join(flags.certsDir, file), "utf8");
  if (existsSync(join(flags.certsDir, `${name}.key`))) {
    return { ca: read("ca.crt"), cert: read(`${name}.crt`), key: read(`${name}.key`) };
  }
  const signer = { certificate: new X509Certificate(read("ca.crt")), key: read("ca.key") };
  const key = newKey();
  const leaf = { name, key: createPrivateKey(key), hosts: [], now: Date.now() };
  const signing = { ...signer, key: createPrivateKey(signer.key) };
  return { ca: read("ca.crt"), cert: issueLeaf(signing, leaf), key };
}

interface Order {
  /** Whose certificate it shows: its own as a client, if nobody's is named. */
  readonly name?: string;
  readonly address?: string;
  readonly tool?: string;
  /** What it floods the orchestrator with. */
  readonly kind?: string;
}

/** What it does without a pause until it is told to stop, so many at once. */
const FLOODS: Readonly<Record<string, readonly [number, (client: BusClient) => Promise<unknown>]>> =
  {
    events: [
      256,
      (client) => {
        const payload = { kind: "wanted", text: "x".repeat(1_000) };
        const value = { topic: "test.news", eventType: "flood", payload };
        return client.ask({ case: "publish", value });
      },
    ],
    storage: [
      256,
      (client) => {
        const path = `flood/${Math.floor(Math.random() * 50)}.md`;
        const value = { path, content: Buffer.alloc(2_000, "x"), expectedVersion: -1n };
        return client.ask({ case: "storageWrite", value });
      },
    ],
    calls: [
      256,
      (client) => {
        const value = { toolName: "attack", arguments: { act: "nothing" } };
        return client.ask({ case: "toolCall", value });
      },
    ],
    lists: [256, (client) => client.ask({ case: "listTools", value: {} })],
    logs: [
      1,
      async () => {
        process.stderr.write(`${"noise ".repeat(100)}\n`.repeat(200));
        await new Promise((resolve) => setImmediate(resolve));
      },
    ],
    /** Requests of 16 MiB that never come to their end. */
    unfinished: [
      1,
      async () => {
        const credentials = await credentialsOf(`${BUS_ID}-client`);
        const connection = await connect(flags.orchestrator, { credentials });
        const part = Buffer.alloc(15 * 1024 * 1024);
        part.writeUInt32BE(16 * 1024 * 1024);
        const sent = Array.from({ length: 12 }, () => connection.openStream().write(part));
        await Promise.allSettled(sent);
        await new Promise((resolve) => setTimeout(resolve, 200));
      },
    ],
    /** Streams that are opened and left. */
    streams: [
      1,
      async () => {
        const credentials = await credentialsOf(`${BUS_ID}-client`);
        const connection = await connect(flags.orchestrator, { credentials });
        for (let count = 0; count < 1_000; count++) {
          connection
            .openStream()
            .write(Buffer.alloc(2))
            .catch(() => {});
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      },
    ],
  };

let flooding = new AbortController();
let refusals = 0;

async function flood(kind: string): Promise<void> {
  const { signal } = flooding;
  const [atOnce, act] = FLOODS[kind] ?? [0, async () => {}];
  const client = new BusClient({
    name: "It",
    mostConnections: 40,
    dial: async (signal) => {
      const credentials = await credentialsOf(`${BUS_ID}-client`);
      return connect(flags.orchestrator, { credentials, signal });
    },
  });
  const one = async (): Promise<void> => {
    while (!signal.aborted) {
      await act(client).catch(async () => {
        refusals++;
        await new Promise((resolve) => setTimeout(resolve, 20));
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  await client[Symbol.asyncDispose]();
}

const acts: Readonly<Record<string, (order: Order) => unknown>> = {
  /** What it finds in the folder that it was given. */
  look: () => ({
    path: flags.certsDir,
    mode: (statSync(flags.certsDir).mode & 0o777).toString(8),
    files: readdirSync(flags.certsDir).toSorted(),
    modes: readdirSync(flags.certsDir).map((name) =>
      (statSync(join(flags.certsDir, name)).mode & 0o777).toString(8),
    ),
  }),
  /** Calls a tool of whoever serves at an address. */
  call: async ({ name = `${BUS_ID}-client`, address = flags.orchestrator, tool = "" }) => {
    await using client = new BusClient({
      name: "It",
      dial: async (signal) => connect(address, { credentials: await credentialsOf(name), signal }),
    });
    const value = { toolName: tool, arguments: { message: "stolen" } };
    return toJson(PluginResponseSchema, await client.ask({ case: "toolCall", value }));
  },
  nothing: () => ({}),
  flood: ({ kind = "" }) => {
    flooding = new AbortController();
    void flood(kind);
    return { kind };
  },
  stop: () => {
    flooding.abort();
    return { refusals };
  },
  /** What it is told that it may call. */
  list: async () => {
    await using client = new BusClient({
      name: "It",
      dial: async (signal) => {
        const credentials = await credentialsOf(`${BUS_ID}-client`);
        return connect(flags.orchestrator, { credentials, signal });
      },
    });
    return toJson(PluginResponseSchema, await client.ask({ case: "listTools", value: {} }));
  },
};

const handlers: BusHandlers = {
  register: () => ({ case: "register", value: { accepted: true } }),
  boot: () => ({ case: "boot", value: { ready: true } }),
  health: () => ({ case: "health", value: { status: 1 } }),
  shutdown: () => {
    setTimeout(() => process.exit(0), 50);
    return { case: "shutdown", value: { clean: true } };
  },
  listTools: () => {
    const attack = { name: "attack", inputSchema: { type: "object" } };
    const text = "x".repeat(100_000);
    const huge = Array.from({ length: BUS_ROGUE === "huge" ? 30 : 0 }, (_, number) => ({
      name: `huge${number}`,
      inputSchema: { type: "object", description: text },
    }));
    return { case: "listTools", value: { tools: [attack, ...huge] } };
  },
  toolCall: async ({ arguments: args }) => {
    const { act, ...order } = (args ?? {}) as unknown as Order & { readonly act: string };
    try {
      const found = await acts[act]?.(order);
      return {
        case: "toolCall",
        value: { success: true, result: { text: JSON.stringify(found) } },
      };
    } catch (error) {
      const text = JSON.stringify({ error: (error as Error).message });
      return { case: "toolCall", value: { success: true, result: { text } } };
    }
  },
};

/** Answers calls of its tool as nobody should; all else as it has to be. */
async function misbehave(stream: BidiStream): Promise<void> {
  const bytes = await stream.readAll(MAX_FRAME);
  const { requestId, request } = decodeRequest(bodyOf(bytes));
  const act = request.case === "toolCall" ? request.value.arguments?.act : undefined;
  const good = encodeResponse({
    requestId,
    response: { case: "toolCall", value: { success: true, result: { text: "x".repeat(1_000) } } },
  });
  switch (typeof act === "string" ? act : "") {
    case "wrong-id": {
      const value = { success: true, result: { text: "for somebody else" } };
      await stream.end(
        encodeResponse({ requestId: "trunkline-0", response: { case: "toolCall", value } }),
      );
      return;
    }
    case "half":
      await stream.write(good.subarray(0, 500));
      stream.reset(3);
      return;
    case "end-early":
      await stream.end(good.subarray(0, 500));
      return;
    case "nothing-at-all":
      await stream.end();
      return;
    case "garbage":
      await stream.end(encodeFrame(Buffer.from("\xff\xff\xff", "latin1")));
      return;
    case "4-gib":
      await stream.write(Buffer.alloc(4, 0xff));
      return;
    default: {
      const handler = request.case === undefined ? undefined : handlers[request.case];
      const answer = await (handler as ((value: unknown) => unknown) | undefined)?.(request.value);
      const response = answer === undefined ? {} : { response: answer as never };
      await stream.end(encodeResponse({ requestId, ...response }));
    }
  }
}

const listener = await listen(flags.listen, {
  credentials: await credentialsOf(BUS_ID),
  stream: (stream) => void misbehave(stream).catch(() => {}),
});
process.stderr.write(`READY ${listener.address.replace("quic://", "")}\n`);

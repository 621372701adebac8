// A plugin that keeps to no rule but the wire's. It does not register, and does with its certificates
// what its tool `attack` is told to do.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toJson } from "@bufbuild/protobuf";

import { readFlags } from "../../src/plugin/sdk/flags.ts";
import { openCertificates } from "../../src/protocol/bus/certificates/certificates.ts";
import { issueLeaf, newKey } from "../../src/protocol/bus/certificates/issue.ts";
import { BusClient } from "../../src/protocol/bus/connect.ts";
import { PluginResponseSchema } from "../../src/protocol/bus/plugin.gen.ts";
import { type BusHandlers, serveExchange } from "../../src/protocol/bus/serve.ts";
import { connect } from "../../src/wire/quic/connect.ts";
import type { Credentials } from "../../src/wire/quic/connection.ts";
import { listen } from "../../src/wire/quic/listen.ts";

const { BUS_ID = "rogue", BUS_ROGUE } = process.env;
const flags = readFlags(process.argv.slice(2));

if (BUS_ROGUE === "own-authority" && !existsSync(join(flags.certsDir, "ca.key"))) {
  // As Orchestra's SDK does where it finds no key of an authority.
  const other = join(flags.certsDir, "other");
  await openCertificates(other).trusted();
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
  const key = newKey("ed25519");
  const leaf = { name, key: createPrivateKey(key), hosts: [], now: Date.now() };
  const signing = { ...signer, key: createPrivateKey(signer.key) };
  return { ca: read("ca.crt"), cert: await issueLeaf(signing, leaf), key };
}

interface Order {
  /** Whose certificate it shows: its own as a client, if nobody's is named. */
  readonly name?: string;
  readonly address?: string;
  readonly tool?: string;
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
  listTools: () => ({
    case: "listTools",
    value: { tools: [{ name: "attack", inputSchema: { type: "object" } }] },
  }),
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

const listener = await listen(flags.listen, {
  credentials: await credentialsOf(BUS_ID),
  stream: (stream, connection) =>
    void serveExchange(stream, connection, { handlers, report: () => {} }),
});
process.stderr.write(`READY ${listener.address.replace("quic://", "")}\n`);

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { packages } from "../conformance/suite.ts";
import { WindowPlace } from "../support/mcp-window.ts";
import { EVERYTHING, everythingIsMissing } from "../upstream/everything.ts";

const BUILT = join(import.meta.dirname, "../../dist/trunkline.js");
const TOOL = "trigger-elicitation-request";

type Class = new (...args: unknown[]) => object;

interface SdkClient {
  connect(transport: object): Promise<void>;
  close(): Promise<void>;
  setRequestHandler(method: string, answer: () => Promise<unknown>): void;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: object): Promise<{ content: { text?: string }[] }>;
}

/** A client of the official SDK that has started `trunkline mcp`, and answers forms with its name. */
async function connect(place: WindowPlace, name: string): Promise<SdkClient> {
  const folder = "@modelcontextprotocol/client/dist";
  const load = (file: string) => packages.import<Record<string, Class>>(folder, file);
  const { Client } = (await load("index.mjs")) as { Client: Class };
  const { StdioClientTransport } = (await load("stdio.mjs")) as { StdioClientTransport: Class };
  const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode: "legacy" } };
  const client = new Client({ name: "window", version: "1" }, options) as SdkClient;
  client.setRequestHandler("elicitation/create", async () => ({
    action: "accept",
    content: { name },
  }));
  const { PATH = "" } = process.env;
  const server = {
    command: process.execPath,
    args: [BUILT, "mcp", "--config", place.config],
    env: { PATH, ...place.env },
    cwd: place.home,
  };
  await client.connect(new StdioClientTransport(server));
  return client;
}

describe("windows of the official SDK on one gateway", { timeout: 300_000 }, () => {
  before(() => packages.install());

  it("answer the questions of server-everything, each its own", async (t) => {
    const missing = await everythingIsMissing();
    if (missing !== false) return t.skip(missing);
    using place = new WindowPlace();
    writeFileSync(place.config, JSON.stringify({ mcpServers: { everything: EVERYTHING } }));
    await using gateway = await place.serve();
    await using all = new AsyncDisposableStack();
    const names = ["Ada", "Bob", "Cleo"];
    const clients = await Promise.all(names.map((name) => connect(place, name)));
    for (const client of clients) all.defer(() => client.close());
    for (const client of clients) assert.ok((await client.listTools()).tools.length > 0);
    const ask = async (client: SdkClient): Promise<string> => {
      const { content } = await client.callTool({ name: TOOL, arguments: {} });
      return content.map(({ text = "" }) => text).join("\n");
    };
    // The first question finds one client, so that it is answered; then each has an instance.
    assert.match(await ask(clients[0] as SdkClient), /Ada/);
    for (let round = 1; round <= 3; round++) {
      const texts = await Promise.all(clients.map(ask));
      for (const [at, text] of texts.entries()) {
        assert.deepEqual(
          names.filter((name) => text.includes(name)),
          [names[at]],
        );
      }
    }
    gateway.program.child.kill("SIGKILL");
    await gateway.program.exit;
    const texts = await Promise.all(clients.map(ask));
    for (const [at, text] of texts.entries()) assert.match(text, new RegExp(names[at] ?? ""));
    return undefined;
  });
});

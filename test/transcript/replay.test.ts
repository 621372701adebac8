import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Connection } from "../../src/protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../src/protocol/mcp/serve/door.ts";
import { jugglerServer } from "../../src/protocol/juggler/serve.ts";
import { Peer } from "../../src/rpc/peer.ts";
import { memoryPair } from "../../src/wire/channel/memory.ts";
import { RecordingSink } from "../support/recording-sink.ts";
import { covers } from "../support/requirement.ts";
import { DOCUMENTS } from "./mcp/documents.ts";
import { replay } from "./replay.ts";

const FOLDER = join(import.meta.dirname, "mcp");

const LAZYGIT = "2024-11-05/lazygit-mcp-bridge";
const STDIO = "2024-11-05/transport-stdio";
const REMOTE_JUGGLER = "2025-11-25/remote-juggler";

/** Answers whoever is at the other end of a channel. */
type Door = Parameters<typeof replay>[1];

/** The program that a document shows, as it speaks MCP. */
function mcpDoor(document: string, connection: Connection): Door {
  const options = DOCUMENTS[document]?.();
  assert.ok(options);
  const door = new McpDoor(options).optionsFor(connection);
  return (channel) => new Peer(channel, connection, door);
}

/** The same program as over MCP, as it speaks to IDEs. */
function actionDoor(): Door {
  const tools = DOCUMENTS[REMOTE_JUGGLER]?.();
  assert.ok(tools);
  const description = "Git identity management";
  const info = { name: "RemoteJuggler", version: "2.2.0", description };
  const door = jugglerServer({ offer: async () => tools.offer, info });
  return (channel) => new Peer(channel, undefined, door);
}

async function replayMcp(document: string): Promise<void> {
  using connection = new Connection();
  await replay(join(FOLDER, `${document}.jsonl`), mcpDoor(document, connection));
}

describe("transcripts of the documents", { timeout: 600_000 }, () => {
  it("are complete", () => {
    const files = globSync("*/*.jsonl", { cwd: FOLDER }).map((file) => file.replace(".jsonl", ""));
    assert.deepEqual(files.toSorted(), [LAZYGIT, STDIO, REMOTE_JUGGLER]);
    assert.deepEqual(files.toSorted(), Object.keys(DOCUMENTS).toSorted());
  });

  it("replay word for word: lazygit-mcp-bridge", async () => {
    covers("review.protocol.version", "review.protocol.flow", "review.initialize.request");
    covers("review.initialize.answer", "review.tools.list", "review.call.messages");
    covers("review.call.none", "review.resources.list", "review.resources.read");
    covers("review.notify.subscribe", "review.error.shape");
    await replayMcp(LAZYGIT);
  });

  it("replay word for word: transport.stdio", async () => {
    covers("bus.stdin.lines", "bus.stdout.lines");
    await replayMcp(STDIO);
  });

  it("replay word for word: RemoteJuggler over MCP", async () => {
    covers("identity.mcp.version", "identity.mcp.initialize", "identity.mcp.list");
    covers("identity.mcp.call", "identity.mcp.failure", "identity.compare.result");
    await replayMcp(REMOTE_JUGGLER);
  });

  it("replay word for word: RemoteJuggler's action dialect", async () => {
    covers("identity.jsonrpc.request", "identity.jsonrpc.response", "identity.jsonrpc.error");
    covers("identity.acp.initialize.request", "identity.acp.initialize.answer");
    covers("identity.acp.action.request", "identity.acp.action.answer");
    const file = join(import.meta.dirname, "juggler/2.2.0/remote-juggler.jsonl");
    await replay(file, actionDoor());
  });
});

describe("error codes of the documents", { timeout: 600_000 }, () => {
  /** The codes that a door answers texts with, one after the other. */
  const codes = async (open: Door, texts: readonly string[]) => {
    const [near, far] = memoryPair();
    const client = new RecordingSink();
    const peer = open(near);
    far.receive(client);
    for (const [sent, text] of texts.entries()) {
      void far.send(text);
      await client.until(({ messages }) => messages.length > sent);
    }
    await peer.close();
    return client.messages.map((text) => {
      return (JSON.parse(text) as { error?: { code: number } }).error?.code;
    });
  };
  const NO_JSON = "{nonsense";
  const NO_REQUEST = '{"jsonrpc":"2.0","id":1}';
  const request = (method: string, params: object = {}): string => {
    return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  };

  it("are those of lazygit-mcp-bridge", async () => {
    covers("review.error.parse", "review.error.invalid-request");
    covers("review.error.method-not-found", "review.error.invalid-params");
    using connection = new Connection();
    const begin = request("initialize", { protocolVersion: "2024-11-05", capabilities: {} });
    const wrong = request("tools/call", { arguments: {} });
    const texts = [begin, NO_JSON, NO_REQUEST, request("some/unknown"), wrong];
    const found = await codes(mcpDoor(LAZYGIT, connection), texts);
    assert.deepEqual(found, [undefined, -32700, -32600, -32601, -32602]);
  });

  it("are those of RemoteJuggler", async () => {
    covers("identity.error.parse", "identity.error.invalid-request");
    covers("identity.error.method-not-found", "identity.error.invalid-params");
    covers("identity.error.internal");
    const wrong = request("acp/executeAction", { arguments: {} });
    const texts = [NO_JSON, NO_REQUEST, request("acp/other"), wrong];
    assert.deepEqual(await codes(actionDoor(), texts), [-32700, -32600, -32601, -32602]);
    const broken = jugglerServer({ offer: () => Promise.reject(new Error("a bug")) });
    const open: Door = (channel) => new Peer(channel, undefined, broken);
    assert.deepEqual(await codes(open, [request("acp/initialize")]), [-32603]);
  });
});

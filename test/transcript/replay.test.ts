import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Connection } from "../../src/protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../src/protocol/mcp/serve/door.ts";
import { jugglerServer } from "../../src/protocol/juggler/serve.ts";
import { Peer } from "../../src/rpc/peer.ts";
import { DOCUMENTS } from "./mcp/documents.ts";
import { replay } from "./replay.ts";

const FOLDER = join(import.meta.dirname, "mcp");

describe("transcripts of the documents", { timeout: 20_000 }, () => {
  const files = globSync("*/*.jsonl", { cwd: FOLDER }).toSorted();

  it("are all there", () => {
    assert.deepEqual(
      files.map((file) => file.replace(".jsonl", "")),
      Object.keys(DOCUMENTS).toSorted(),
    );
  });

  for (const file of files) {
    it(`replay word for word: ${file}`, async () => {
      const options = DOCUMENTS[file.replace(".jsonl", "")]?.();
      assert.ok(options);
      using connection = new Connection();
      const door = new McpDoor(options).optionsFor(connection);
      await replay(join(FOLDER, file), (channel) => new Peer(channel, connection, door));
    });
  }

  it("replay word for word: RemoteJuggler's action dialect", async () => {
    const file = join(import.meta.dirname, "juggler/2.2.0/remote-juggler.jsonl");
    // The same program as over MCP.
    const tools = DOCUMENTS["2025-11-25/remote-juggler"]?.();
    assert.ok(tools);
    const description = "Git identity management";
    const info = { name: "RemoteJuggler", version: "2.2.0", description };
    const door = jugglerServer({ offer: async () => tools.offer, info });
    await replay(file, (channel) => new Peer(channel, undefined, door));
  });
});

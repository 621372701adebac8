import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Connection } from "../../src/protocol/mcp/connection.ts";
import { McpDoor } from "../../src/protocol/mcp/door.ts";
import { Peer } from "../../src/rpc/peer.ts";
import { memoryPair } from "../../src/wire/channel/memory.ts";
import { RecordingSink } from "../support/recording-sink.ts";
import { DOCUMENTS } from "./mcp/documents.ts";

interface Step {
  readonly send?: object;
  readonly expect?: object;
}

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
      const [near, far] = memoryPair();
      const client = new RecordingSink();
      const peer = new Peer(near, connection, new McpDoor(options).optionsFor(connection));
      far.receive(client);
      let answered = 0;
      for (const { send, expect } of stepsOf(file)) {
        if (send !== undefined) void far.send(JSON.stringify(send));
        if (expect === undefined) continue;
        answered++;
        await client.until(({ messages }) => messages.length >= answered);
        assert.deepEqual(JSON.parse(client.messages[answered - 1] ?? ""), expect);
      }
      assert.equal(client.messages.length, answered, "something was said that nobody asked for");
      await peer.close();
    });
  }
});

function stepsOf(file: string): Step[] {
  const lines = readFileSync(join(FOLDER, file), "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Step);
}

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";

import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { childChannel } from "./child.ts";

describe("childChannel()", () => {
  it("reports lines that are not messages separately", async () => {
    const child = { stdin: new PassThrough(), stdout: new PassThrough() };
    const stray: string[] = [];
    await using channel = childChannel(child, { stray: (line) => stray.push(line) });
    const sink = new RecordingSink();
    channel.receive(sink);
    child.stdout.write('Listening…\n{"a":1}\n  [1]\nDEBUG {"b":2}\n');
    await sink.until(({ messages }) => messages.length === 2);
    assert.deepEqual(sink.messages, ['{"a":1}', "  [1]"]);
    assert.deepEqual(stray, ["Listening…", 'DEBUG {"b":2}']);
  });

  it("ends the child's input when it is disposed", async () => {
    const child = { stdin: new PassThrough(), stdout: new PassThrough() };
    {
      await using channel = childChannel(child);
      channel.receive(new RecordingSink());
      void channel.send("last");
    }
    assert.equal(child.stdin.writableEnded, true);
    assert.equal(String(child.stdin.read()), "last\n");
  });
});

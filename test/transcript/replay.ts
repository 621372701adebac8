import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import type { Channel } from "../../src/wire/channel.ts";
import { memoryPair } from "../../src/wire/channel/memory.ts";
import { RecordingSink } from "../support/recording-sink.ts";

interface Step {
  readonly send?: object;
  readonly expect?: object;
}

/** Sends what a transcript says, and asserts that the answers are those in it, and no others. */
export async function replay(
  file: string,
  open: (channel: Channel<string>) => { close(): Promise<unknown> },
): Promise<void> {
  const [near, far] = memoryPair();
  const client = new RecordingSink();
  const peer = open(near);
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
}

function stepsOf(file: string): Step[] {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Step);
}

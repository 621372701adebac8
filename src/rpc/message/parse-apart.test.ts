import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { FrameFault, Sink } from "../../wire/channel.ts";
import { memoryPair } from "../../wire/channel/memory.ts";
import { RpcError } from "../rpc-error.ts";
import { apartSink, parseApart } from "./parse-apart.ts";

const LIMITS = { maxDepth: 64, maxWork: 10_000 };
const FAULT: FrameFault = { kind: "busy", size: 1, limit: 1, head: "", tail: "" };

/** What a peer gets: texts and values, up to the end. */
class Recorder implements Sink<string> {
  readonly seen: unknown[] = [];
  readonly ended = Promise.withResolvers<void>();
  message(text: string, parsed?: unknown): void {
    this.seen.push(parsed ?? text);
  }
  fault(fault: FrameFault): void {
    this.seen.push(fault.kind);
  }
  end(): void {
    this.ended.resolve();
  }
}

function tool(index: number): object {
  const members = [1, 2, 3, 4].map((at) => [`p${at}`, { type: "string", enum: ["a", index] }]);
  return { name: `tool-${index}`, inputSchema: { properties: Object.fromEntries(members) } };
}

describe("A message of a configured peer that takes much work", () => {
  it("is parsed as JSON.parse does, and the thread is free meanwhile", async () => {
    const list = Array.from({ length: 3_000 }, (_, index) => tool(index));
    const text = `{"__proto__":{"a":[]},"list":${JSON.stringify(list)},"text":"${"é".repeat(90_000)}","n":null}`;
    let turns = 0;
    const count = (): void => {
      turns++;
      timer.refresh();
    };
    const timer = setTimeout(count, 0);
    const value = await parseApart({ text, maxDepth: 64 });
    clearTimeout(timer);
    assert.deepEqual(value, JSON.parse(text));
    assert.deepEqual(Object.keys(value as object), ["__proto__", "list", "text", "n"]);
    assert.ok(turns > 3, `the thread had ${turns} turns`);
  });

  it("comes before what followed it, and after what came before", async () => {
    const [ours, theirs] = memoryPair();
    const recorder = new Recorder();
    ours.receive(apartSink(recorder, LIMITS));
    const large = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => index));
    for (const text of ["1", large, "2", large, "3"]) void theirs.send(text);
    await theirs.finish();
    await recorder.ended.promise;
    const seen = recorder.seen.map((each) => (Array.isArray(each) ? each.length : each));
    assert.deepEqual(seen, ["1", 20_000, "2", 20_000, "3"]);
  });

  it("holds back faults, too", async () => {
    const recorder = new Recorder();
    const sink = apartSink(recorder, LIMITS);
    const room = sink.message(`[${"1,".repeat(60_000)}1]`);
    sink.fault(FAULT);
    sink.end();
    assert.deepEqual(recorder.seen, []);
    await room;
    assert.equal(recorder.seen[1], "busy");
  });

  it("is refused with words if it is nested too deep or no JSON", async () => {
    const filler = "1,".repeat(60_000);
    const deep = await parseApart({ text: `[${filler}${"[".repeat(70)}`, maxDepth: 64 });
    assert.ok(deep instanceof RpcError && /nested deeper than 64/.test(deep.message));
    const broken = await parseApart({ text: `[${filler}}`, maxDepth: 64 });
    assert.ok(broken instanceof RpcError && broken.code === -32700);
  });
});

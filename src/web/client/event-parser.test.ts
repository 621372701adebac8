import assert from "node:assert/strict";
import { test } from "node:test";

import { EventParser } from "./event-stream.ts";

const STREAM =
  ': hello\r\n\r\nid: 7\r\nevent: row\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata:x\n\nid\n\n';

test("EventParser reads the same events in whatever pieces the stream arrives", () => {
  const expected = [
    { name: "row", data: '{"a":\n1}' },
    { name: "message", data: "x" },
  ];
  for (let size = 1; size <= STREAM.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < STREAM.length; at += size) {
      events.push(...parser.push(STREAM.slice(at, at + size)));
    }
    assert.deepEqual(events, expected);
    assert.equal(parser.lastId, "");
  }
});

test("EventParser counts an id only when its event is complete", () => {
  const parser = new EventParser("3");
  assert.deepEqual([...parser.push("id: 4\ndata: a\n")], []);
  assert.equal(parser.lastId, "3");
  assert.deepEqual([...parser.push("\n")], [{ name: "message", data: "a" }]);
  assert.equal(parser.lastId, "4");
});

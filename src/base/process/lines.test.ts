import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { test } from "node:test";

import { readLines } from "./lines.ts";

test("readLines() tells lines however they are cut, and only the beginning of a long one", async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  readLines(stream, (line) => lines.push(line), 5);
  for (const text of ["on", "e\r\n\ntwo\nfar too", " long", "\nun", "ended"]) stream.write(text);
  stream.end();
  await once(stream, "close");
  assert.deepEqual(lines, ["one", "two", "far t", "unended".slice(0, 5)]);
});

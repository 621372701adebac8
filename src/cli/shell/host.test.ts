import assert from "node:assert/strict";
import { test } from "node:test";
import { isVerbose, type Output, writer } from "./host.ts";

const PIPE: Output = { write: () => true, on: () => undefined };

test("isVerbose() reads Trunkline's variable and RemoteJuggler's", () => {
  assert.equal(isVerbose({ TRUNKLINE_VERBOSE: "1" }), true);
  assert.equal(isVerbose({ REMOTE_JUGGLER_VERBOSE: "1" }), true);
  assert.equal(isVerbose({ TRUNKLINE_VERBOSE: "0" }), false);
  assert.equal(isVerbose({}), false);
});

test("writer() opens its output only if there is something to write", () => {
  let touched = 0;
  const write = writer(
    () => {
      touched++;
      return PIPE;
    },
    () => undefined,
  );
  assert.equal(touched, 0);
  write("a");
  write("b");
  assert.equal(touched, 1);
});

test("writer() reports every failure, and listens for failures once", () => {
  const listeners: ((error: NodeJS.ErrnoException) => void)[] = [];
  const failures: unknown[] = [];
  const output: Output = { write: () => true, on: (_, listener) => listeners.push(listener) };
  const write = writer(
    () => output,
    ({ code }) => failures.push(code),
  );
  write("a");
  write("b");
  const [fail, ...more] = listeners;
  assert.deepEqual(more, []);
  fail?.(Object.assign(new Error("disk full"), { code: "ENOSPC" }));
  fail?.(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
  assert.deepEqual(failures, ["ENOSPC", "EPIPE"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { isVerbose, type Output, styleOf, writer } from "./host.ts";

function output(properties: { isTTY?: boolean; columns?: number } = {}): Output {
  return { ...properties, write: () => true, on: () => undefined };
}

const TERMINAL = output({ isTTY: true });
const PIPE = output();

test("styleOf() colours a terminal only", () => {
  assert.equal(styleOf(TERMINAL, {}).color, true);
  assert.equal(styleOf(PIPE, {}).color, false);
  assert.equal(styleOf(TERMINAL, { TERM: "dumb" }).color, false);
});

test("styleOf() has no colours with NO_COLOR, whatever else is set", () => {
  assert.equal(styleOf(TERMINAL, { NO_COLOR: "1" }).color, false);
  assert.equal(styleOf(TERMINAL, { NO_COLOR: "0" }).color, false);
  assert.equal(styleOf(TERMINAL, { NO_COLOR: "1", FORCE_COLOR: "1" }).color, false);
  assert.equal(styleOf(TERMINAL, { NO_COLOR: "" }).color, true);
});

test("styleOf() does what FORCE_COLOR says", () => {
  assert.equal(styleOf(PIPE, { FORCE_COLOR: "1" }).color, true);
  assert.equal(styleOf(PIPE, { FORCE_COLOR: "true" }).color, true);
  assert.equal(styleOf(PIPE, { FORCE_COLOR: "" }).color, false);
  assert.equal(styleOf(TERMINAL, { FORCE_COLOR: "0" }).color, false);
  assert.equal(styleOf(TERMINAL, { FORCE_COLOR: "false" }).color, false);
});

test("styleOf() fills the terminal, within reason", () => {
  assert.equal(styleOf(PIPE, {}).width, 80);
  assert.equal(styleOf(output({ columns: 60 }), {}).width, 60);
  assert.equal(styleOf(output({ columns: 300 }), {}).width, 100);
  assert.equal(styleOf(output({ columns: 3 }), {}).width, 40);
  // What some terminals say when they do not know.
  assert.equal(styleOf(output({ columns: 0 }), {}).width, 80);
});

test("isVerbose() reads Trunkline's variable and RemoteJuggler's", () => {
  assert.equal(isVerbose({ TRUNKLINE_VERBOSE: "1" }), true);
  assert.equal(isVerbose({ REMOTE_JUGGLER_VERBOSE: "1" }), true);
  assert.equal(isVerbose({ TRUNKLINE_VERBOSE: "0" }), false);
  assert.equal(isVerbose({}), false);
});

test("writer() touches its output only when there is something to write", () => {
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

test("writer() tells of every failure, and asks to be told once", () => {
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

import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Program } from "../support/program.ts";
import { covers } from "../support/requirement.ts";

const MiB = 1024 * 1024;
const initialize = (id: number) => ({
  jsonrpc: "2.0",
  id,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
});

describe("trunkline mcp", { timeout: 600_000 }, () => {
  it("answers a handshake and ends with exit 0 when its input ends", async () => {
    await using program = new Program(["mcp"]);
    program.write(initialize(1), { jsonrpc: "2.0", method: "notifications/initialized" });
    program.write({ jsonrpc: "2.0", id: 2, method: "ping" });
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
    const [first, second] = await program.answers(2);
    assert.equal(first?.id, 1);
    assert.equal(first?.result?.["protocolVersion"], "2025-11-25");
    assert.deepEqual(second, { jsonrpc: "2.0", id: 2, result: {} });
    assert.equal(program.lines.length, 2);
    assert.equal(program.stderr, "");
  });

  it("answers every line that was piped into it", async () => {
    covers("mcp.stdio.lines");
    await using program = new Program(["mcp"]);
    const lines = Array.from(
      { length: 5000 },
      (_, id) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`,
    );
    program.child.stdin.end(lines.join("\r\n"));
    assert.equal(await program.exit, 0);
    const ids = program.lines.map((line) => (JSON.parse(line) as { id: number }).id);
    assert.deepEqual(
      ids,
      lines.map((_, id) => id),
    );
  });

  it("answers a line over 10 MiB with an error and continues", async () => {
    await using program = new Program(["mcp"]);
    const text = "x".repeat(11 * MiB);
    program.write({ jsonrpc: "2.0", id: "big", method: "ping", params: { text } });
    program.child.stdin.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
    program.write("{oops", { jsonrpc: "2.0", id: 2, method: "ping" });
    const [tooLarge, notUtf8, notJson, next] = await program.answers(4);
    assert.equal(tooLarge?.id, "big");
    assert.equal(tooLarge?.error?.["code"], -32600);
    for (const unreadable of [notUtf8, notJson]) {
      assert.equal(unreadable?.id, null);
      assert.equal(unreadable?.error?.["code"], -32700);
    }
    assert.deepEqual(next?.result, {});
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
  });

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    it(`ends with exit 0 on ${signal}`, async () => {
      await using program = new Program(["mcp"]);
      program.write(initialize(1));
      await program.answers(1);
      program.child.kill(signal);
      assert.equal(await program.exit, 0);
    });
  }

  it("exits when its reader is gone", async () => {
    await using program = new Program(["mcp"]);
    program.write(initialize(1));
    await program.answers(1);
    program.child.stdout.destroy();
    const feed = setInterval(() => program.write({ jsonrpc: "2.0", id: 2, method: "ping" }), 5);
    assert.equal(await program.exit, 0);
    clearInterval(feed);
  });

  it("stays within its memory while its reader never reads", async () => {
    await using program = new Program(["mcp", "--set", "limits.highWater=65536"]);
    // On a busy machine it takes long to start, and reads as little then.
    program.write(initialize(1));
    await program.answers(1);
    program.child.stdout.pause();
    const text = "x".repeat(1000);
    const line = `{"jsonrpc":"2.0","id":"${text}","method":"ping"}\n`;
    let isFull = false;
    for (let sent = 0; !isFull; sent += line.length) {
      assert.ok(
        sent < 64 * MiB,
        "the program took 64 MiB of requests without its answers being read",
      );
      const hasRoom = program.child.stdin.write(line.repeat(64));
      if (!hasRoom) isFull = await Promise.race([drained(program), stuck()]);
    }
    program.child.kill("SIGTERM");
    program.child.stdout.resume();
    assert.equal(await program.exit, 0, program.stderr);
  });

  it("writes the log of its messages to stderr, with secrets masked", async () => {
    covers("mcp.stdio.stdout");
    for (const variable of ["TRUNKLINE_VERBOSE", "REMOTE_JUGGLER_VERBOSE"]) {
      await using program = new Program(["--mode=mcp"], { env: { [variable]: "1" } });
      const token = "ghp_0123456789abcdefghijABCDEFGHIJ";
      program.write({
        jsonrpc: "2.0",
        id: 7,
        method: "ping",
        params: { sessionId: "s1", token, note: token },
      });
      program.child.stdin.end();
      assert.equal(await program.exit, 0);
      const events = program.stderr
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      assert.deepEqual(
        events.map(({ event, method, id, session }) => [event, method, id, session]),
        [
          ["rpc.received", "ping", 7, "s1"],
          ["rpc.sent", undefined, 7, undefined],
        ],
      );
      assert.deepEqual(events[0].params, { sessionId: "s1", token: "•••", note: "•••" });
      assert.equal(program.lines.length, 1);
      assert.ok(!program.stderr.includes("ghp_"));
    }
  });

  it("does not start with an invalid configuration, and gives the position", async () => {
    await using program = new Program(["mcp", "--config", "bad.jsonc"]);
    writeFileSync(join(program.home, "bad.jsonc"), '{\n  "log": { "level": "loud" }\n}\n');
    program.write(initialize(1));
    assert.equal(await program.exit, 1);
    assert.match(
      program.stderr,
      /bad\.jsonc:2:21: 'log\.level' must be one of: debug, info, warn, error/,
    );
    assert.deepEqual(program.lines, []);
  });
});

describe("trunkline acp", { timeout: 600_000 }, () => {
  it("answers initialize as the message specification shows, never echoing a version", async () => {
    await using program = new Program(["acp"]);
    program.write(
      { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } },
      { jsonrpc: "2.0", id: 2, method: "initialize", params: { protocolVersion: 99 } },
      { jsonrpc: "2.0", id: 3, method: "initialize", params: { protocolVersion: "1" } },
      {
        jsonrpc: "2.0",
        id: 4,
        method: "initialize",
        params: { protocolVersion: 1, pad: "x".repeat(10_300) },
      },
    );
    const [first, second, third, fourth] = await program.answers(4);
    assert.equal(first?.result?.["protocolVersion"], 1);
    assert.equal(second?.result?.["protocolVersion"], 1);
    assert.equal(
      third?.error?.["message"],
      "Invalid params: 'params.protocolVersion' must be an integer",
    );
    assert.match(String(fourth?.error?.["message"]), /'initialize' may be at most 10240 bytes/);
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
  });
});

describe("trunkline acp after many errors", { timeout: 600_000 }, () => {
  it("reads more slowly after 100 in a second, and continues the conversation", async () => {
    await using program = new Program(["acp"]);
    // More than fits into a pipe and the stream's buffer, so that it really stops reading.
    const params = { padding: "x".repeat(2_000) };
    const wrong = { jsonrpc: "2.0", id: 1, method: "no/such/method", params };
    program.write(...Array.from({ length: 300 }, () => wrong));
    program.write({
      jsonrpc: "2.0",
      id: "after",
      method: "initialize",
      params: { protocolVersion: 1 },
    });
    const answers = await program.answers(301);
    assert.equal(answers.at(-1)?.id, "after");
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
  });
});

async function drained(program: Program): Promise<false> {
  await once(program.child.stdin, "drain");
  return false;
}

/** Half a second without room: the program has stopped reading. */
function stuck(): Promise<true> {
  return new Promise((resolve) => setTimeout(resolve, 500, true));
}

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";

import { Log, type LogLevel } from "./log.ts";

const LEVELS: LogLevel[] = ["debug", "info", "warn", "error"];

function record(level: LogLevel, context?: Record<string, unknown>) {
  const lines: string[] = [];
  const log = new Log(level, (line) => lines.push(line), context);
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? "") as Record<string, unknown> };
}

describe("Log", () => {
  it("writes the lines of its level and above", () => {
    for (const [rank, level] of LEVELS.entries()) {
      const { log, lines } = record(level);
      for (const each of LEVELS) log[each](each);
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line) as { event: string }).event),
        LEVELS.slice(rank),
      );
      assert.deepEqual(
        LEVELS.map((each) => log.has(each)),
        LEVELS.map((_, index) => index >= rank),
      );
    }
  });

  it("does not evaluate the fields of a line that is not written", () => {
    const { log, lines } = record("info");
    log.debug("x", {
      get costly(): string {
        throw new Error("was looked at");
      },
    });
    assert.deepEqual(lines, []);
  });

  it("writes one line of JSON, whatever is in the text", () => {
    const { log, lines, last } = record("info");
    log.info("a\nb", { text: "1\n2\r\u{2028}3\0" });
    assert.equal(lines[0]?.split("\n").length, 2);
    assert.ok(lines[0]?.endsWith("}\n"));
    assert.equal(last().text, "1\n2\r\u{2028}3\0");
    assert.ok(Math.abs(Date.parse(String(last().time)) - Date.now()) < 60_000);
  });

  it("adds its context to every line, the innermost value first", () => {
    const { log, last } = record("info", { door: "mcp", session: 1 });
    log.with({ session: 2 }).with({ turn: 3 }).info("x", { turn: 4 });
    const { door, session, turn, level, event } = last();
    assert.deepEqual([door, session, turn, level, event], ["mcp", 2, 4, "info", "x"]);
    log.info("y");
    assert.equal(last().session, 1);
  });

  it("masks secrets in fields and in its context", () => {
    const { log, lines } = record("info", { token: "hush1" });
    log.info("x", { params: { env: { API_KEY: "hush2" } }, url: "http://a:hush3@b/" });
    log.error("y", { error: new Error("Bearer hush4567") });
    assert.ok(!lines.join("").includes("hush"), lines.join(""));
  });

  it("says in words that a disk is full, with where that was noticed only to who debugs", () => {
    const error = Object.assign(new Error("ENOSPC: no space left on device, write"), {
      code: "ENOSPC",
    });
    const { log, last } = record("info");
    log.error("x", { error });
    assert.match(String(last().error), /^no space left on device\. Free some space[^\n]*$/);
    const debug = record("debug");
    debug.log.error("x", { error });
    assert.match(String(debug.last().error), /\n +at /);
  });

  it("never throws, whatever it is given", () => {
    const { log, last } = record("info");
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const odd = {
      getter: Object.defineProperty({}, "x", { enumerable: true, get: () => assert.fail("no") }),
      toJSON: { toJSON: () => assert.fail("no") },
      proxy,
    };
    for (const [name, value] of Object.entries(odd)) {
      log.warn(name, { value });
      assert.equal(last().event, name);
      assert.equal(typeof last().unreadable, "string");
    }
    log.warn("plain", { big: 10n, symbol: Symbol("s"), call: () => {}, not: NaN });
    assert.equal(last().big, "10");
  });

  it("continues when nobody reads stderr any more", { timeout: 600_000 }, async () => {
    const script = `
      const { Log } = await import(${JSON.stringify(import.meta.resolve("./log.ts"))});
      const log = new Log("info");
      process.stdin.on("data", () => {
        log.info("unheard");
        setTimeout(() => { log.info("unheard"); process.stdout.write("still here"); }, 50);
      });
      process.stdin.on("end", () => process.exit(0));
      process.stdout.write("ready");`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script]);
    using _ = { [Symbol.dispose]: () => void child.kill("SIGKILL") };
    await once(child.stdout, "data");
    child.stderr.destroy();
    await once(child.stderr, "close");
    child.stdin.write("go");
    const [answer] = (await Promise.race([once(child.stdout, "data"), once(child, "exit")])) as [
      unknown,
    ];
    assert.equal(String(answer), "still here");
    child.stdin.end();
    const [code] = (await once(child, "exit")) as [number];
    assert.equal(code, 0);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { type PluginStart, startPlugin } from "./plugin-process.ts";

/** Starts a program of that code as a plugin. */
function start(code: string, options: Partial<PluginStart> = {}) {
  return startPlugin({
    settings: {
      ...{ id: "sample", binary: process.execPath, args: ["--eval", code, "--"], config: {} },
      ...{ env: { GREETING: "hello" }, providesStorage: [], providesAi: [], dependsOn: [] },
    },
    orchestratorAddress: "localhost:1",
    certsDir: "/certs",
    timeout: 600_000,
    signal: new AbortController().signal,
    said: () => {},
    ...options,
  });
}

describe("startPlugin()", { timeout: 60_000 }, () => {
  it("passes a plugin its addresses, and reads its own from the READY line", async () => {
    covers("bus.spawn.flags", "bus.spawn.ready");
    const said: string[] = [];
    const code = `
      console.log("on stdout");
      console.error(process.env.GREETING + " " + process.argv.slice(1).join(" "));
      console.error("READY localhost:50123");
      process.stdin.resume();`;
    const { child, address } = await start(code, { said: (line) => said.push(line) });
    await child.end();
    assert.equal(address, "localhost:50123");
    assert.deepEqual(said.toSorted(), [
      "hello --orchestrator-addr=localhost:1 --listen-addr=localhost:0 --certs-dir=/certs",
      "on stdout",
    ]);
  });

  it("reports the last lines of a plugin that exits before it is ready, without its secrets", async () => {
    const code = `console.error("first"); console.error("no token: Bearer abcdefgh12345678"); process.exit(3);`;
    await assert.rejects(start(code), ({ message }: Error) => {
      assert.match(message, /^It ended \(3\) before it was READY, after saying: no token: /);
      assert.doesNotMatch(message, /abcdefgh/);
      return true;
    });
  });

  it("ends a plugin that is not ready in time, or is no longer wanted", async () => {
    covers("bus.spawn.ready");
    await assert.rejects(
      start("process.stdin.resume()", { timeout: 1 }),
      /did not say READY within 1 ms/,
    );
    const abort = new AbortController();
    const starting = start("process.stdin.resume()", { signal: abort.signal });
    abort.abort(new Error("not wanted"));
    await assert.rejects(starting, /not wanted/);
  });

  it("reports that the program does not exist", async () => {
    const settings = {
      ...{ id: "x", binary: "/nowhere/plugin", args: [], env: {}, config: {} },
      ...{ providesStorage: [], providesAi: [], dependsOn: [] },
    };
    await assert.rejects(start("", { settings }), /nowhere/);
  });
});

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Measuring, measuredProgram, withProgram } from "./measured-program.ts";
import { patiently } from "./patiently.ts";
import { FUZZ_CONFIG } from "./vocabulary-acp.ts";

describe("a flood of one request", { timeout: 600_000 }, () => {
  it("does not block the thread for more than 50 ms, though each queries the store", async (t) => {
    const program = measuredProgram(["acp", "--config", "config.jsonc"]);
    writeFileSync(join(program.home, "config.jsonc"), JSON.stringify(FUZZ_CONFIG));
    let lastId = 0;
    /** Sends so many in one write, and waits for all of their answers. */
    const flood = async (method: string, params: object, count: number): Promise<unknown> => {
      const from = lastId;
      const all = Array.from({ length: count }, () =>
        JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method, params }),
      );
      program.write(all.join("\n"));
      let answers = 0;
      let result: unknown;
      const answered = program.until(({ lines }) => {
        for (const line of lines.splice(0)) {
          const message = JSON.parse(line) as { id?: number; method?: string; result?: unknown };
          if (message.method !== undefined || (message.id ?? 0) <= from) continue;
          answers++;
          result = message.result ?? result;
        }
        return answers === count;
      });
      await patiently(() => `${count} answers to ${method}, of which came ${answers}`, answered);
      return result;
    };
    const place = { cwd: program.home, mcpServers: [] };
    await withProgram(program, async () => {
      await flood("initialize", { protocolVersion: 1 }, 1);
      const { sessionId } = (await flood("session/new", place, 1)) as { sessionId: string };
      const floods: [method: string, params: object, count: number][] = [
        ["session/set_mode", { sessionId, modeId: "ask" }, 150],
        ["session/list", {}, 300],
        ["session/new", place, 100],
        ["session/fork", { sessionId, ...place }, 60],
        ["session/delete", { sessionId: "none" }, 300],
      ];
      for (const [method, params] of floods) await flood(method, params, 20);
      for (const [method, params, count] of floods) {
        const measuring = await Measuring.begin(program);
        await flood(method, params, count);
        t.diagnostic(`${method}: ${measuring.expectNoStall(method).toFixed(1)} ms`);
      }
      program.child.stdin.end();
      assert.equal(await program.exit, 0, program.stderr.slice(-2000));
    });
  });
});

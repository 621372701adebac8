import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { rounds } from "../support/full-run.ts";
import { readyLine } from "./fuzz-http.ts";
import { fuzzCount, fuzzTimeout, seeded } from "./fuzz-run.ts";
import { WebSocketFuzzer } from "./fuzz-websocket.ts";
import { Measuring, measuredProgram, withProgram } from "./measured-program.ts";
import { FUZZ_CONFIG } from "./vocabulary-acp.ts";

const WARM_UP = rounds({ few: 1_500, all: 8_000 });

/** The gateway under so many messages over WebSockets. */
export function fuzzWebSocket(usual: number): void {
  const count = fuzzCount(usual);

  describe("hostile frames on WebSockets", { timeout: fuzzTimeout(count) }, () => {
    it(`${count} messages, each request answered, no stall, no growth`, async (t) => {
      const random = seeded(t, 4);
      const program = measuredProgram(["serve", "--port", "0", "--json", "--config", "c.jsonc"]);
      writeFileSync(join(program.home, "c.jsonc"), JSON.stringify(FUZZ_CONFIG));
      await withProgram(program, async () => {
        const fuzzer = new WebSocketFuzzer(random, await readyLine(program), program.home);
        await fuzzer.send(WARM_UP);
        const measuring = await Measuring.begin(program);
        for (let sent = 0; sent < count; sent += 20_000) {
          await fuzzer.send(Math.min(20_000, count - sent));
        }
        const worst = measuring.expectNoStall();
        const { kept, rss } = await measuring.expectBounded({ kept: 60, rss: 250 });
        t.diagnostic(`${fuzzer.broken} broken; longest turn ${worst.toFixed(0)} ms`);
        t.diagnostic(`${kept.toFixed(1)} MiB kept, ${rss.toFixed(0)} MiB taken`);
        program.child.kill("SIGTERM");
        assert.equal(await program.exit, 0, program.stderr.slice(-2000));
      });
    });
  });
}

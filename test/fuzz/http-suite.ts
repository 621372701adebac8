import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { rounds } from "../support/full-run.ts";
import { HttpFuzzer, readyLine } from "./fuzz-http.ts";
import { fuzzCount, fuzzTimeout, seeded } from "./fuzz-run.ts";
import { Measuring, measuredProgram, withProgram } from "./measured-program.ts";

const WARM_UP = rounds({ few: 2_000, all: 5_000 });
const BLOCK = 1_000;

/** The gateway under so many requests over HTTP. */
export function fuzzHttp(usual: number): void {
  const count = fuzzCount(usual);

  describe("hostile requests on HTTP", { timeout: fuzzTimeout(count) }, () => {
    it(`${count} requests, each answered, no stall, no growth`, async (t) => {
      const random = seeded(t, 3);
      const program = measuredProgram(["serve", "--port", "0", "--json"]);
      await withProgram(program, async () => {
        const fuzzer = await HttpFuzzer.open(random, await readyLine(program));
        await fuzzer.send(WARM_UP);
        const measuring = await Measuring.begin(program);
        for (let sent = 0; sent < count; sent += BLOCK) {
          await fuzzer.send(Math.min(BLOCK, count - sent));
          await fuzzer.probe();
        }
        const worst = measuring.expectNoStall();
        const { kept, rss } = await measuring.expectBounded({ kept: 60, rss: 250 });
        const statuses = [...fuzzer.statuses].toSorted(([a], [b]) => a - b);
        t.diagnostic(`statuses ${statuses.map((each) => each.join(": ")).join(", ")}`);
        t.diagnostic(`${fuzzer.broken} broken; longest turn ${worst.toFixed(0)} ms`);
        t.diagnostic(`${kept.toFixed(1)} MiB kept, ${rss.toFixed(0)} MiB taken`);
        program.child.kill("SIGTERM");
        assert.equal(await program.exit, 0, program.stderr.slice(-2000));
      });
    });
  });
}

import { describe, it } from "node:test";

import { BusHome } from "../support/bus-home.ts";
import { busCredentials, HealthyClient } from "../support/bus-healthy.ts";
import { rounds } from "../support/full-run.ts";
import { BusFuzzer } from "./fuzz-bus.ts";
import { fuzzCount, fuzzTimeout, seeded } from "./fuzz-run.ts";
import { MEASURED, Measuring } from "./measured-program.ts";

const WARM_UP = rounds({ few: 500, all: 1_000 });
const BLOCK = 500;

/** The orchestrator under so many streams over QUIC, and as many over TLS. */
export function fuzzBus(usual: number): void {
  const count = fuzzCount(usual);

  describe("hostile frames on the bus", { timeout: fuzzTimeout(count) }, () => {
    for (const [scheme, salt] of [
      ["quic", 5],
      ["tls", 6],
    ] as const) {
      it(`${count} streams over ${scheme}, each request answered, no stall, no growth`, async (t) => {
        const random = seeded(t, salt);
        await using home = new BusHome();
        const where = `${scheme}://localhost:0`;
        const plugins = [home.testPlugin()];
        const orchestrator = await home.orchestrator(plugins, where, { nodeArgs: MEASURED });
        await orchestrator.logged("plugin.up");
        await using healthy = new HealthyClient(orchestrator.addr, home.certs);
        const credentials = await busCredentials(home.certs, "bad-client");
        await using fuzzer = new BusFuzzer(random, orchestrator.addr, credentials);
        const send = async (streams: number): Promise<void> => {
          for (let sent = 0; sent < streams; sent += BLOCK) {
            await fuzzer.send(Math.min(BLOCK, streams - sent));
            await healthy.call();
          }
        };
        await send(WARM_UP);
        const measuring = await Measuring.begin(orchestrator.program);
        await send(count);
        const worst = measuring.expectNoStall();
        const { kept, rss } = await measuring.expectBounded({ kept: 60, rss: 250 });
        const { answered, refused, broken } = fuzzer.outcomes;
        t.diagnostic(`${answered} answered, ${refused} refused, ${broken} broken off`);
        t.diagnostic(`longest turn ${worst.toFixed(0)} ms`);
        t.diagnostic(`${kept.toFixed(1)} MiB kept, ${rss.toFixed(0)} MiB taken`);
      });
    }
  });
}

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { Log } from "../../base/log.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { AppContext } from "../../config/app-context.ts";
import { lazyBus } from "./lazy-bus.ts";

async function openWith(home: SampleHome, plugins: object) {
  await home.write(home.userFile, JSON.stringify({ bus: { plugins } }));
  const { config } = await home.load();
  const events: string[] = [];
  const log = new Log("info", (line) => {
    events.push((JSON.parse(line) as { event: string }).event);
  });
  const app = Object.assign(new AppContext(config), { log });
  const offer = new Offer();
  return { offer, events, bus: lazyBus(app, offer, undefined) };
}

describe("lazyBus()", { timeout: 30_000 }, () => {
  it("delays no list if no plugin is configured, or none is enabled", async () => {
    await using home = await SampleHome.create();
    for (const plugins of [{}, { off: { command: "x", enabled: false } }]) {
      const { offer, bus } = await openWith(home, plugins);
      await using _bus = bus;
      assert.equal(offer.known(), undefined);
    }
  });

  it("starts nothing for a call or a list once it is closed", async () => {
    await using home = await SampleHome.create();
    const { offer, bus, events } = await openWith(home, { p: { command: "/nonexistent" } });
    await bus[Symbol.asyncDispose]();
    assert.deepEqual([offer.arrival(), offer.known()], [undefined, undefined]);
    assert.deepEqual(events, []);
  });

  it("tries again for the next list if the bus cannot be opened, and reports it", async () => {
    await using home = await SampleHome.create();
    // The certificates of the bus cannot be kept where a file is.
    await home.write(`${home.data}/certs`, "");
    const { offer, bus, events } = await openWith(home, { p: { command: "/nonexistent" } });
    await using _bus = bus;
    // A call of an unknown tool waits for it too, but not again and again.
    await offer.arrival();
    assert.ok(events.includes("bus.not-opened"), events.join());
    assert.equal(offer.arrival(), undefined);
    events.length = 0;
    await offer.known();
    assert.ok(events.includes("bus.not-opened"), events.join());
  });
});

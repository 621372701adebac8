import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../test/samples/sample-home.ts";
import { fleetValues } from "./fleet-flags.ts";

describe("fleetValues()", () => {
  it("say which fleet a gateway or worker belongs to", async () => {
    await using home = await SampleHome.create();
    const label = ["gpu=a100", "rack=7=b"];
    const fleet = { bus: "nats://bus:4222", pool: "ci", name: "w1", slots: "3", label };
    const { config, origins } = await home.load({ flags: { more: fleetValues(fleet) } });
    assert.deepEqual(config.fleet, {
      url: "nats://bus:4222",
      pool: "ci",
      name: "w1",
      slots: 3,
      labels: { gpu: "a100", rack: "7=b" },
      waiting: 1_000,
    });
    assert.deepEqual(origins.get("fleet.url"), { kind: "flag", where: "--bus" });
  });

  it("refuses a label without a value, and slots that are no number", async () => {
    await using home = await SampleHome.create();
    assert.throws(() => fleetValues({ label: ["gpu"] }), {
      code: "usage",
      message: "--label: 'gpu' is not KEY=VALUE, such as gpu=yes.",
    });
    await assert.rejects(home.load({ flags: { more: fleetValues({ slots: "many" }) } }), {
      code: "usage",
      message: "--slots: 'fleet.slots' must be an integer",
    });
  });
});

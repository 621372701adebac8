import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { House } from "../house.ts";
import { LazySessions } from "./lazy-sessions.ts";

async function houseIn(home: SampleHome): Promise<House> {
  const { config } = await home.load();
  return new House({ ...config, log: { level: "error", verbose: false } });
}

describe("LazySessions", () => {
  it("opens nothing until a session is requested", async () => {
    await using home = await SampleHome.create();
    const house = await houseIn(home);
    {
      await using sessions = new LazySessions(house);
      assert.equal(await sessions.opened(), undefined);
    }
    assert.equal(existsSync(house.config.data), false);
  });

  it("opens the sessions once for concurrent requests", async () => {
    await using home = await SampleHome.create();
    await using sessions = new LazySessions(await houseIn(home));
    const [one, other] = await Promise.all([sessions.open(), sessions.open()]);
    assert.equal(one, other);
    assert.equal(await sessions.opened(), one);
  });

  it("retries after a failure to open them", async () => {
    await using home = await SampleHome.create();
    const house = await houseIn(home);
    await using sessions = new LazySessions(house);
    // A file where the data folder should be.
    await mkdir(dirname(house.config.data), { recursive: true });
    await writeFile(house.config.data, "");
    await assert.rejects(sessions.open());
    await rm(house.config.data);
    assert.ok(await sessions.open());
  });
});

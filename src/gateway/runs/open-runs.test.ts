import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { House } from "../house.ts";
import { openRuns } from "./open-runs.ts";

describe("openRuns()", () => {
  it("hides what it fetches and checks out from other users of the machine", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, `{ "remote": { "sandbox": "unsafe-off" } }`);
    const { config } = await home.load();
    await using _runs = await openRuns(new House(config));
    assert.equal(statSync(config.data).mode & 0o777, 0o700);
  });
});

import { describe, it } from "node:test";

import { roundTrips } from "../../../test/support/round-trips.ts";

describe("switch → undo", { timeout: 120_000 }, () => {
  it("restores random configurations of git and ssh, byte for byte", async () => {
    await roundTrips(60);
  });
});

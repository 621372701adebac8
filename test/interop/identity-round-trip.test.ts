import { describe, it } from "node:test";

import { roundTrips } from "../support/round-trips.ts";

describe("switch → undo", { timeout: 900_000 }, () => {
  it("restores 1,000 random configurations of git and ssh, byte for byte", async () => {
    await roundTrips(1_000);
  });
});

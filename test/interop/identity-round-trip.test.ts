import { describe, it } from "node:test";

import { roundTrips } from "../support/round-trips.ts";

/** Homes side by side: in each, one git process waits for the other. */
const HOMES = 4;
const TRIPS = 250;

describe("switch → undo", () => {
  it("restores 1,000 random configurations of git and ssh, byte for byte", async () => {
    const homes = Array.from({ length: HOMES }, (_, at) => roundTrips(TRIPS, 1 + TRIPS * at));
    await Promise.all(homes);
  });
});

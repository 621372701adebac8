import { describe, it } from "node:test";

import { roundTrips } from "../../../test/support/round-trips.ts";

const COUNT = 15;
const DAYS = 60;

describe("switch → undo", { timeout: 600_000 }, () => {
  it("restores random configurations of git and ssh, byte for byte", async () => {
    // Other ones each day; `npm run test:interop` tries those of all days.
    const today = Math.floor(Date.now() / (24 * 60 * 60 * 1000)) % DAYS;
    await roundTrips(COUNT, 1 + COUNT * today);
  });
});

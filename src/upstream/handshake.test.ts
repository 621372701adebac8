import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { LEGACY, Scripts, SILENCE } from "../../test/upstream/scripted-server.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };

describe("Upstreams start a server", () => {
  it("a second time with the old handshake, if it could not handle the new one", async () => {
    const scripts = new Scripts({
      a: { ...LEGACY, "server/discover": (_, server) => (server.die(), SILENCE) },
    });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ a: { command: "a" } });
    assert.deepEqual(app.toolNames, ["echo"]);
    assert.equal(scripts.of("a")[1]?.heard[0]?.["method"], "initialize");
    assert.equal(app.upstreams.status()[0]?.failuresInARow, 0);
  });
});

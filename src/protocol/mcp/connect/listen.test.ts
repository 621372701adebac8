import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import { MODERN, type Script } from "../../../../test/upstream/scripted-server.ts";

describe("McpClient.watch()", () => {
  const capabilities = { resources: { subscribe: true, listChanged: true } };

  it("opens a new subscription at a server of 2026-07-28 before it ends the old one", async () => {
    const script: Script = {
      ...MODERN,
      "server/discover": () => ({ supportedVersions: ["2026-07-28"], capabilities }),
    };
    await using pair = await ClientPair.connect(script);
    await pair.server.until((server) => server.asked("subscriptions/listen").length === 1);
    await pair.client.watch("x://1");
    await pair.server.until((server) => server.asked("notifications/cancelled").length === 1);
    const [first, second] = pair.server.asked("subscriptions/listen");
    assert.deepEqual(first?.["params"].notifications, { resourcesListChanged: true });
    assert.deepEqual(second?.["params"].notifications, {
      resourcesListChanged: true,
      resourceSubscriptions: ["x://1"],
    });
    const [cancelled] = pair.server.asked("notifications/cancelled");
    assert.equal(cancelled?.["params"].requestId, first?.["id"]);
    assert.ok(pair.server.heard.indexOf(cancelled ?? {}) > pair.server.heard.indexOf(second ?? {}));
  });
});

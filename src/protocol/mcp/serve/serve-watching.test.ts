import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fixtureOffer } from "../../../../test/conformance/fixture/offer.ts";
import { covers } from "../../../../test/support/requirement.ts";
import { RawClient } from "../../../../test/upstream/raw-client.ts";
import { Profiles } from "../../../tool/profile/profiles.ts";
import { McpDoor } from "./door.ts";

const WATCHED = "test://watched-resource";
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const door = (): McpDoor => new McpDoor({ offer: fixtureOffer() });

describe("resources/subscribe", { timeout: 600_000 }, () => {
  it("reports updates until unsubscribed, and nothing else", async () => {
    covers("mcp.resources.subscribe", "mcp.resources.unsubscribe");
    await using client = await RawClient.connect(door(), { revision: "2025-11-25" });
    const trigger = async (): Promise<number> => {
      await client.callTool("test_trigger_resource_update");
      return client.told("notifications/resources/updated").length;
    };
    assert.equal(await trigger(), 0);
    await client.request("resources/subscribe", { uri: WATCHED });
    await client.request("resources/subscribe", { uri: WATCHED });
    assert.equal(await trigger(), 1);
    assert.deepEqual(client.told("notifications/resources/updated")[0]?.["params"], {
      uri: WATCHED,
    });
    await client.request("resources/unsubscribe", { uri: WATCHED });
    assert.equal(await trigger(), 1);
  });
});

describe("a subscription that is not made yet when its client leaves", { timeout: 600_000 }, () => {
  it("is not made", async () => {
    const { offer } = door();
    offer.profiles = new Profiles({ p: { for: {} } });
    const [asked, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const watched: string[] = [];
    offer.resources.add({
      list: () => [],
      read: async () => undefined,
      sourceOf: async (name: string) => {
        asked.resolve();
        await open.promise;
        return { server: "late", name };
      },
      watch: (uri) => void watched.push(uri),
    });
    {
      await using client = await RawClient.connect(new McpDoor({ offer }), {
        revision: "2025-11-25",
      });
      client.send("resources/subscribe", { uri: "late://1" });
      await asked.promise;
    }
    open.resolve();
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.deepEqual(watched, []);
  });
});

describe("updates of a resource that a profile hides", { timeout: 600_000 }, () => {
  const HIDING = new Profiles({ p: { for: {}, resources: { deny: [WATCHED] } } });

  it("cannot be subscribed to", async () => {
    const { offer } = door();
    offer.profiles = HIDING;
    await using client = await RawClient.connect(new McpDoor({ offer }), {
      revision: "2025-11-25",
    });
    const { error } = await client.request("resources/subscribe", { uri: WATCHED });
    assert.match(error.message, /not found/);
    const read = await client.request("resources/read", { uri: WATCHED });
    assert.deepEqual(read["error"], error);
  });

  it("are not told of any more once the profile hides it", async () => {
    const { offer } = door();
    await using client = await RawClient.connect(new McpDoor({ offer }), {
      revision: "2025-11-25",
    });
    await client.request("resources/subscribe", { uri: WATCHED });
    await client.callTool("test_trigger_resource_update");
    assert.equal(client.told("notifications/resources/updated").length, 1);
    offer.profiles = HIDING;
    await client.callTool("test_trigger_resource_update");
    await client.request("ping");
    assert.equal(client.told("notifications/resources/updated").length, 1);
  });

  it("are not acknowledged by a subscription", async () => {
    const { offer } = door();
    offer.profiles = HIDING;
    await using client = await RawClient.connect(new McpDoor({ offer }), {
      revision: "2026-07-28",
    });
    const notifications = { toolsListChanged: true, resourceSubscriptions: [WATCHED] };
    client.send("subscriptions/listen", { notifications });
    await client.until(({ messages }) => messages.length > 0);
    const [acknowledged] = client.told("notifications/subscriptions/acknowledged");
    assert.deepEqual(acknowledged?.["params"].notifications, { toolsListChanged: true });
  });
});

describe("list changes in a session", { timeout: 600_000 }, () => {
  it("are announced without a subscription", async () => {
    covers("mcp.tools.list-changed", "mcp.prompts.list-changed");
    await using client = await RawClient.connect(door(), { revision: "2024-11-05" });
    await client.callTool("test_trigger_tool_change");
    await client.until((each) => each.told("notifications/tools/list_changed").length > 0);
    await client.callTool("test_trigger_prompt_change");
    await client.until((each) => each.told("notifications/prompts/list_changed").length > 0);
  });
});

describe("subscriptions/listen", { timeout: 600_000 }, () => {
  it("is acknowledged first, and reports only what was asked for, under its id", async () => {
    covers("mcp.subscriptions.acknowledged", "mcp.subscriptions.filter", "mcp.subscriptions.id");
    await using client = await RawClient.connect(door(), { revision: "2026-07-28" });
    const notifications = { toolsListChanged: true, resourceSubscriptions: [WATCHED] };
    const id = client.send("subscriptions/listen", { notifications });
    await client.until(({ messages }) => messages.length > 0);
    const [first] = client.messages;
    assert.equal(first?.["method"], "notifications/subscriptions/acknowledged");
    assert.deepEqual(first?.["params"].notifications, notifications);
    for (const name of ["prompt_change", "resource_update", "tool_change"]) {
      await client.callTool(`test_trigger_${name}`);
    }
    await client.until((each) => each.told("notifications/tools/list_changed").length > 0);
    assert.deepEqual(client.told("notifications/prompts/list_changed"), []);
    assert.equal(client.told("notifications/resources/updated")[0]?.["params"].uri, WATCHED);
    const told = client.messages.filter((message) => "method" in message);
    assert.ok(told.every(({ params }) => params._meta[SUBSCRIPTION] === id));
  });

  it("reports nothing without a subscription, and nothing after it is cancelled", async () => {
    covers("mcp.subscriptions.cancel");
    await using client = await RawClient.connect(door(), { revision: "2026-07-28" });
    await client.callTool("test_trigger_tool_change");
    const notifications = { toolsListChanged: true };
    const requestId = client.send("subscriptions/listen", { notifications });
    await client.until((each) => each.told("notifications/subscriptions/acknowledged").length > 0);
    client.notify("notifications/cancelled", { requestId });
    await client.callTool("test_trigger_tool_change");
    await client.request("tools/list");
    assert.deepEqual(client.told("notifications/tools/list_changed"), []);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fixtureOffer } from "../../../../test/conformance/fixture/offer.ts";
import { covers } from "../../../../test/support/requirement.ts";
import { type Json, RawClient } from "../../../../test/upstream/raw-client.ts";
import { REVISIONS, SESSION_REVISIONS } from "../revision/revisions.ts";
import { McpDoor } from "./door.ts";

const door = (): McpDoor => new McpDoor({ offer: fixtureOffer(), instructions: () => "Be kind" });

/** What a client of a revision is told when it comes. */
async function met(revision: (typeof REVISIONS)[number]): Promise<Json> {
  await using client = await RawClient.connect(door(), { revision });
  if (client.isModern) return (await client.request("server/discover"))["result"] as Json;
  return client.messages[0]?.["result"] as Json;
}

describe("initialize", () => {
  it("is answered with the revision, our capabilities, our name and instructions", async () => {
    covers("mcp.lifecycle.result", "mcp.tools.capability", "mcp.resources.capability");
    covers("mcp.prompts.capability", "mcp.logging.capability");
    for (const revision of SESSION_REVISIONS) {
      const result = await met(revision);
      assert.equal(result["protocolVersion"], revision);
      assert.equal(result["serverInfo"].name, "trunkline");
      assert.equal(result["instructions"], "Be kind");
      const { tools, resources, prompts, logging } = result["capabilities"] as Json;
      assert.deepEqual(tools, { listChanged: true });
      assert.deepEqual(resources, { subscribe: true, listChanged: true });
      assert.deepEqual(prompts, { listChanged: true });
      assert.deepEqual(logging, {});
    }
  });

  it("announces only capabilities that the revision knows", async () => {
    covers("mcp.completion.capability", "mcp.tasks.capability");
    const having = async (name: string): Promise<string[]> => {
      const found: string[] = [];
      for (const revision of REVISIONS) {
        if (name in ((await met(revision))["capabilities"] as Json)) found.push(revision);
      }
      return found.toSorted();
    };
    assert.deepEqual(await having("completions"), REVISIONS.slice(0, 4).toSorted());
    assert.deepEqual(await having("tasks"), ["2025-11-25"]);
    assert.deepEqual(await having("extensions"), ["2026-07-28"]);
  });
});

describe("server/discover", () => {
  it("lists every supported revision, with cache hints", async () => {
    covers("mcp.modern.discover", "mcp.tasks-extension.capability");
    const result = await met("2026-07-28");
    assert.deepEqual(result["supportedVersions"], REVISIONS);
    assert.equal(result["resultType"], "complete");
    assert.equal(result["cacheScope"], "private");
    assert.ok("io.modelcontextprotocol/tasks" in result["capabilities"].extensions);
  });

  it("names what it lacks before there is a session, and is unknown inside one", async () => {
    await using modern = await RawClient.connect(door(), { revision: "2026-07-28" });
    const bare = await modern.request("server/discover", {
      _meta: { "io.modelcontextprotocol/clientCapabilities": undefined },
    });
    assert.equal(bare["error"].code, -32602);
    await using legacy = await RawClient.connect(door(), { revision: "2025-11-25" });
    assert.equal((await legacy.request("server/discover"))["error"].code, -32601);
  });
});

describe("ping and logging/setLevel", () => {
  it("are answered with an empty result, and do not exist in 2026-07-28", async () => {
    covers("mcp.ping.answer", "mcp.modern.removed");
    await using legacy = await RawClient.connect(door(), { revision: "2025-03-26" });
    assert.deepEqual((await legacy.request("ping"))["result"], {});
    assert.deepEqual((await legacy.request("logging/setLevel", { level: "error" }))["result"], {});
    await using modern = await RawClient.connect(door(), { revision: "2026-07-28" });
    const removed = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list"];
    for (const method of removed) {
      assert.equal((await modern.request(method))["error"].code, -32601, method);
    }
  });

  it("refuse an unknown level", async () => {
    covers("mcp.logging.invalid-level");
    await using client = await RawClient.connect(door(), { revision: "2025-11-25" });
    const { error } = await client.request("logging/setLevel", { level: "loud" });
    assert.equal(error.code, -32602);
  });
});

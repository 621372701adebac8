import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { until } from "../support/until.ts";
import { instructionsFor } from "../../src/app/tool/instructions.ts";
import { McpDoor } from "../../src/protocol/mcp/serve/door.ts";
import { Profiles } from "../../src/tool/profile/profiles.ts";
import { EVERYTHING, everythingIsMissing, referenceServer } from "../upstream/everything.ts";
import { AppWithUpstreams } from "../upstream/app-with-upstreams.ts";
import { type Json, RawClient } from "../upstream/raw-client.ts";

const skip = await everythingIsMissing();

const PROFILES = {
  "reads files": {
    for: { clients: ["reader"] },
    servers: { allow: ["filesystem"] },
    tools: { allow: ["read_*", "list_*"], rename: { read_text_file: "read" } },
  },
  "has no closed documents": {
    for: { clients: ["visitor"] },
    servers: { allow: ["everything"] },
    prompts: { allow: ["simple-*"], rename: { "simple-prompt": "simple" } },
    resources: { deny: ["demo://resource/static/*"] },
  },
  searches: { for: { clients: ["finder"] }, search: true },
};

for (const revision of ["2025-11-25", "2026-07-28"] as const) {
  describe(
    `profiles of real servers, for clients of ${revision}`,
    { skip, timeout: 600_000 },
    () => {
      const folder = mkdtempSync(join(tmpdir(), "trunkline-profiles-"));
      const app = new AppWithUpstreams();
      const door = new McpDoor({
        offer: app.offer,
        instructions: (profile) => instructionsFor(app.offer, profile),
      });

      before(async () => {
        writeFileSync(join(folder, "a.txt"), "Hello");
        app.offer.profiles = new Profiles(PROFILES);
        await app.configure({
          everything: EVERYTHING,
          filesystem: referenceServer("filesystem", folder),
          memory: referenceServer("memory"),
        });
        await until(() => app.toolNames.length >= 14 + 9 + 10);
      });

      after(async () => {
        await app[Symbol.asyncDispose]();
        rmSync(folder, { recursive: true });
      });

      const connect = (name: string): Promise<RawClient> =>
        RawClient.connect(door, { revision, name, capabilities: {} });

      it("show and call only what they allow", async () => {
        await using client = await connect("reader");
        const { result } = await client.request("tools/list");
        const names = (result.tools as Json[]).map(({ name }) => String(name)).toSorted();
        assert.ok(names.includes("read") && names.includes("list_directory"));
        assert.deepEqual(
          names.filter((name) => !/^(?:read|list)/.test(name)),
          [],
        );
        assert.equal(names.includes("read_text_file"), false);
        const read = await client.callTool("read", { path: join(folder, "a.txt") });
        assert.match(read["result"].content[0].text, /Hello/);
        for (const name of ["write_file", "read_text_file", "echo", "read_graph"]) {
          const { error } = await client.callTool(name, {
            path: join(folder, "b.txt"),
            content: "",
          });
          assert.match(error.message, /Unknown tool/, name);
        }
      });

      it("hide prompts and resources, too", async () => {
        await using client = await connect("visitor");
        const { result: prompts } = await client.request("prompts/list");
        assert.deepEqual(
          (prompts.prompts as Json[]).map(({ name }) => name as unknown),
          ["simple"],
        );
        assert.equal((await client.request("prompts/get", { name: "simple" }))["error"], undefined);
        const hidden = await client.request("prompts/get", { name: "simple-prompt" });
        assert.match(hidden["error"].message, /Unknown prompt/);
        const { result: resources } = await client.request("resources/list");
        assert.deepEqual(resources.resources, []);
        const uri = "demo://resource/dynamic/text/1";
        assert.equal((await client.request("resources/read", { uri }))["error"], undefined);
        const closed = "demo://resource/static/document/architecture.md";
        const read = await client.request("resources/read", { uri: closed });
        assert.match(read["error"].message, /not found/);
      });

      it("search in all servers, and call what was found", async () => {
        await using client = await connect("finder");
        const query = "memory create entities";
        const found = await client.callTool("search_tools", { query });
        assert.match(
          found["result"].content[0].text,
          /\n\{"name":"create_entities","server":"memory"/,
        );
        const path = join(folder, "a.txt");
        const call = { name: "read_text_file", arguments: { path } };
        const read = await client.callTool("call_tool", call);
        assert.match(read["result"].content[0].text, /Hello/);
      });

      it("pass on the instructions of the servers that they show", async () => {
        assert.match(
          instructionsFor(app.offer),
          /## The server 'everything' says about itself\n\n> \S/,
        );
        const reader = new Profiles(PROFILES).get("reads files");
        assert.doesNotMatch(instructionsFor(app.offer, reader), /'everything'/);
      });
    },
  );
}

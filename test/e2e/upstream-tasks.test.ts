import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { UpstreamSettings } from "../../src/upstream/settings.ts";
import { FixtureServer, STDIO_SERVER } from "../conformance/fixture-server.ts";
import { AppWithUpstreams } from "../upstream/app-with-upstreams.ts";
import { type Json, RawClient, type RawClientOptions } from "../upstream/raw-client.ts";
import { until } from "../support/until.ts";

const timeout = 600_000;

const ANSWERS = {
  "elicitation/create": () => ({ action: "accept", content: { name: "Ann", confirm: true } }),
};

const CLIENTS: RawClientOptions[] = [
  { revision: "2024-11-05" },
  { revision: "2025-11-25", capabilities: { elicitation: {} }, answers: ANSWERS },
  { revision: "2026-07-28", capabilities: { elicitation: {} }, answers: ANSWERS },
];

/** A server of 2026-07-28 whose tools go on as tasks: another gateway, in a process of its own. */
describe("a server that answers calls with tasks", { timeout }, () => {
  for (const transport of ["stdio", "http"] as const) {
    describe(`on ${transport}`, () => {
      let server: FixtureServer | undefined;
      let app: AppWithUpstreams;

      before(async () => {
        server = transport === "http" ? await FixtureServer.start() : undefined;
        const settings: UpstreamSettings =
          server === undefined ? STDIO_SERVER : { url: server.mcp };
        app = await new AppWithUpstreams({
          limits: { firstList: 20_000, probe: 20_000 },
        }).configure({
          fixture: settings,
        });
        assert.equal(app.upstreams.status()[0]?.revision, "2026-07-28");
      });

      after(async () => {
        await app[Symbol.asyncDispose]();
        await server?.[Symbol.asyncDispose]();
      });

      for (const options of CLIENTS) {
        it(`runs them until they end for a client of ${options.revision}`, async () => {
          await using client = await RawClient.connect(app.door, options);
          const slow = await client.callTool("slow_compute", { seconds: 0.2, label: "tides" });
          assert.equal(slow["result"].content[0].text, "computed tides");
          const failed = await client.callTool("failing_job");
          assert.equal(failed["result"].isError, true);
          assert.equal(failed["result"].content[0].text, "job failed");
          const refused = await client.callTool("protocol_error_job");
          assert.deepEqual(refused["error"], { code: -32603, message: "Internal failure" });
        });

        it(`passes their questions to a client of ${options.revision}`, async () => {
          await using client = await RawClient.connect(app.door, options);
          const { result, error } = await client.callTool("multi_input");
          if (options.answers === undefined) {
            assert.equal(error, undefined);
            assert.match(textOf(result), /does not support elicitation\/create/);
            return;
          }
          assert.equal(client.asked.length, 2);
          assert.equal((JSON.parse(textOf(result)) as Json[])[0]?.["content"].name, "Ann");
          // This one asks first, and is promised only then.
          const greeting = await client.callTool("test_tool_with_task");
          assert.equal(textOf(greeting["result"]), "Hello Ann");
        });
      }

      it("cancels them when the caller cancels", async () => {
        await using client = await RawClient.connect(app.door, { revision: "2025-11-25" });
        const requestId = client.send("tools/call", {
          name: "slow_compute",
          arguments: { seconds: 600 },
        });
        await until(() => app.upstreams.status()[0]?.callsInFlight === 1);
        client.notify("notifications/cancelled", { requestId });
        await until(() => app.upstreams.status()[0]?.callsInFlight === 0);
        const { result } = await client.callTool("greet", { name: "Ann" });
        assert.equal(textOf(result), "Hello, Ann!");
      });
    });
  }
});

function textOf(result: Json): string {
  return String(result["content"][0].text);
}

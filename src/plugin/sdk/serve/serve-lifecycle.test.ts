import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { memoryClient } from "../../../../test/support/linked-plugin.ts";
import { Log } from "../../../base/log.ts";
import { answerOf } from "../../../protocol/bus/answer.ts";
import { HealthResult_Status as Status } from "../../../protocol/bus/plugin.gen.ts";
import type { PluginDefinition } from "../definition.ts";
import { orchestratorAccess } from "../orchestrator-access.ts";
import { partsOf } from "../parts.ts";
import { RunningCalls } from "./running-calls.ts";
import { serveLifecycle } from "./plugin-service.ts";

/** Whoever looks after a plugin so defined; `ended` is told how long its end may take. */
function looksAfter(
  definition: Partial<PluginDefinition>,
  ended: (timeout: number) => boolean = () => true,
) {
  const parts = partsOf({ id: "tools.sample", version: "1.0.0", ...definition });
  const log = new Log("error", () => {});
  const client = memoryClient({});
  const outside = orchestratorAccess({ id: parts.manifest.id, client, log, storageType: "" });
  const service = { tools: parts.tools, outside, calls: new RunningCalls(), log };
  return memoryClient(serveLifecycle(parts, service, async (timeout) => ended(timeout)));
}

describe("serveLifecycle()", () => {
  it("is registered under its own id, or none, and under no other", async () => {
    await using client = looksAfter({});
    for (const [id, isAccepted] of [
      ["", true],
      ["tools.sample", true],
      ["tools.other", false],
    ] as const) {
      const answer = answerOf(
        "It",
        await client.ask({ case: "register", value: { id } }),
        "register",
      );
      assert.equal(answer.accepted, isAccepted, id);
    }
  });

  it("boots with its configuration, or reports why it cannot", async () => {
    const configured: unknown[] = [];
    await using client = looksAfter({
      boot: (config) => {
        configured.push(config);
        if (config.key === undefined) throw new Error("key is not set");
      },
    });
    const boot = async (config: Record<string, string>) =>
      answerOf("It", await client.ask({ case: "boot", value: { config } }), "boot");
    assert.equal((await boot({ key: "1" })).ready, true);
    const { ready, error } = await boot({});
    assert.deepEqual([ready, error], [false, "key is not set"]);
    assert.deepEqual(configured, [{ key: "1" }, {}]);
  });

  it("reports its own health, and is unhealthy if the check throws", async () => {
    const states: readonly (readonly [PluginDefinition["health"], Status, string])[] = [
      [undefined, Status.HEALTHY, "ok"],
      [() => "degraded", Status.DEGRADED, ""],
      [() => ({ status: "unhealthy", message: "no disk" }), Status.UNHEALTHY, "no disk"],
      [() => Promise.reject(new Error("broken")), Status.UNHEALTHY, "broken"],
      [() => "fine" as never, Status.UNSPECIFIED, ""],
    ];
    for (const [health, status, message] of states) {
      await using client = looksAfter(health === undefined ? {} : { health });
      const answer = answerOf("It", await client.ask({ case: "health", value: {} }), "health");
      assert.deepEqual([answer.status, answer.message], [status, message]);
    }
  });

  it("has the given time for its shutdown, or a default, and reports whether it was clean", async () => {
    const timeouts: number[] = [];
    await using client = looksAfter({}, (timeout) => {
      timeouts.push(timeout);
      return timeout > 4_000;
    });
    const clean: boolean[] = [];
    for (const timeoutSeconds of [0, 3]) {
      const answer = await client.ask({ case: "shutdown", value: { timeoutSeconds } });
      clean.push(answerOf("It", answer, "shutdown").clean);
    }
    assert.deepEqual(
      [timeouts, clean],
      [
        [5_000, 3_000],
        [true, false],
      ],
    );
  });
});

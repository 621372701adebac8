import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { memoryClient } from "../../../test/support/linked-plugin.ts";
import { HealthResult_Status as Status } from "../../protocol/bus/plugin.gen.ts";
import { watchHealth } from "./plugin.ts";
import { DEFAULT_PLUGIN_LIMITS, type PluginLimits } from "./settings.ts";

/** Looks at a plugin that answers with one status after another, the last one for ever. */
async function look(answers: (Status | Error)[], limits: Partial<PluginLimits> = {}) {
  const given = Promise.withResolvers<string>();
  let looks = 0;
  await using client = memoryClient({
    health: () => {
      const status = answers[Math.min(looks++, answers.length - 1)];
      if (status instanceof Error) throw status;
      return { case: "health", value: { status: status ?? Status.UNSPECIFIED, message: "so" } };
    },
  });
  const patience = { healthEvery: 5, health: 10_000, mostUnhealthy: 3, ...limits };
  const check = watchHealth(client, { ...DEFAULT_PLUGIN_LIMITS, ...patience }, given.resolve);
  const why = await given.promise;
  check.stop();
  return { why, looks, last: check.last };
}

describe("watchHealth()", { timeout: 30_000 }, () => {
  it("gives up a plugin that reports several times in a row that it is unhealthy", async () => {
    covers("bus.health");
    const { why, looks, last } = await look([
      ...[Status.UNHEALTHY, Status.UNHEALTHY, Status.HEALTHY, Status.DEGRADED],
      Status.UNHEALTHY,
    ]);
    assert.equal(why, "It says that it is unhealthy: so");
    assert.equal(looks, 7);
    assert.equal(last, "unhealthy: so");
  });

  it("gives up a plugin with an invalid answer", async () => {
    const { why, looks, last } = await look([new Error("broken")], { mostUnhealthy: 2 });
    assert.match(why, /^It does not answer: It refused: handler_error/);
    assert.deepEqual([looks, last], [2, undefined]);
  });
});

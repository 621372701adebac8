import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { FixtureServer } from "../conformance/fixture-server.ts";
import { StdioShim } from "../conformance/stdio-shim.ts";
import { packages, type Report, runSuite } from "../conformance/suite.ts";

/** The suite has no way to watch these yet, and says so. */
const ALWAYS_SKIPPED = "tasks-status-notifications";

describe("the conformance suite of MCP", { concurrency: true, timeout: 600_000 }, () => {
  before(() => packages.install());

  it("passes completely for 2025-11-25 over HTTP", async () => {
    await using server = await FixtureServer.start();
    const report = await runSuite(server.mcp, "2025-11-25");
    assertPasses(report, { scenarios: 33, successes: 83 });
  });

  it("passes completely for 2026-07-28 over HTTP", async () => {
    await using server = await FixtureServer.start();
    const report = await runSuite(server.mcp, "2026-07-28");
    assertPasses(report, { scenarios: 50, successes: 196 });
  });

  it("passes completely for 2026-07-28 over stdio, behind a front that checks headers", async () => {
    await using shim = await StdioShim.start();
    const report = await runSuite(shim.mcp, "2026-07-28");
    assertPasses(report, { scenarios: 50, successes: 196 });
  });
});

/** No failure, no warning, nothing left out, in scenarios that are scored and in the others. */
function assertPasses(report: Report, least: { scenarios: number; successes: number }): void {
  const { checks, scenarios, exit, output } = report;
  const troubles = checks.filter(
    ({ status, scenario }) =>
      status === "FAILURE" ||
      status === "WARNING" ||
      (status === "SKIPPED" && scenario !== ALWAYS_SKIPPED),
  );
  const told = troubles.map(
    ({ scenario, id, status, errorMessage }) => `${status} ${scenario}/${id}: ${errorMessage}`,
  );
  assert.deepEqual(told, []);
  assert.equal(exit, 0, output.slice(-2000));
  assert.ok(scenarios.length >= least.scenarios, `only ${scenarios.length} scenarios ran`);
  const successes = checks.filter(({ status }) => status === "SUCCESS").length;
  assert.ok(successes >= least.successes, `only ${successes} checks passed`);
}

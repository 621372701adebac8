import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";

import { noNats } from "../../../test/support/nats-server.ts";
import { Fleet, type FleetNode } from "../../../test/support/shared-fleet.ts";
import { until } from "../../../test/support/until.ts";
import { copiesOf, wholeAuditBackwards } from "../../store/audit/whole-audit.ts";
import { type AuditVerdict, verifyAudit } from "../../store/audit/verify-audit.ts";

describe("The shared audit", { skip: noNats }, () => {
  it("has the calls of all nodes at each of them, and their seals match", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    for (let n = 1; n <= 3; n++) {
      record(a, `a${n}`, 2 * n);
      record(b, `b${n}`, 2 * n + 1);
    }
    const all = ["b3", "a3", "b2", "a2", "b1", "a1"];
    for (const node of [a, b]) {
      await until(async () => (await toolsAt(node)).length === 6);
      assert.deepEqual(await toolsAt(node), all);
      await until(async () => (await verdictAt(node)).sealed === 6);
      assert.deepEqual((await verdictAt(node)).problems, []);
      assert.equal((await verdictAt(node)).writers, 2);
    }
    const half: string[] = [];
    let cursor: string | undefined;
    for await (const { entry, cursor: place } of wholeAuditBackwards(a.data)) {
      half.push(String(entry.tool));
      cursor = place;
      if (half.length === 3) break;
    }
    const rest = await toolsAt(a, cursor);
    assert.deepEqual([...half, ...rest], all);
  });

  it("shows that a copy was changed", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    record(a, "innocent", 1);
    await until(async () => (await verdictAt(b)).sealed === 1);
    const [copy] = copiesOf(b.data, "a");
    const path = copy?.path ?? "";
    writeFileSync(path, readFileSync(path, "utf8").replace("innocent", "harmless"));
    const [problem] = (await verdictAt(b)).problems;
    assert.match(problem?.where ?? "", /^audit-copies\/a\/.*:2$/);
  });

  it("is complete after NATS was down, or has lost its data, and nothing is there twice", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    record(a, "one", 1);
    await until(async () => (await toolsAt(b)).length === 1);
    await fleet.nats.kill();
    record(a, "two", 2);
    record(b, "three", 3);
    await fleet.nats.restart();
    for (const node of [a, b]) await until(async () => (await toolsAt(node)).length === 3);
    await fleet.forget();
    record(a, "four", 4);
    for (const node of [a, b]) {
      await until(async () => (await toolsAt(node)).length === 4);
      assert.deepEqual(await toolsAt(node), ["four", "three", "two", "one"]);
      await until(async () => (await verdictAt(node)).sealed === 4);
      assert.deepEqual((await verdictAt(node)).problems, []);
    }
  });

  it("of a node that joined late begins with a part whose first seal cannot be checked", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    record(a, "one", 1);
    await until(async () => (await fleet.audited("a"))?.includes('{"seal":') === true);
    // NATS has dropped the oldest messages.
    await fleet.dropAudits();
    await using b = await fleet.node("b");
    record(a, "two", 2);
    await until(async () => (await verdictAt(b)).cut >= 1);
    record(a, "three", 3);
    await until(async () => (await verdictAt(b)).sealed >= 1);
    assert.deepEqual((await verdictAt(b)).problems, []);
  });
});

function record({ audit }: FleetNode, tool: string, second: number): void {
  audit.record({ time: new Date(second * 1000).toISOString(), tool });
}

async function toolsAt({ data }: FleetNode, before?: string): Promise<string[]> {
  const tools: string[] = [];
  const options = before === undefined ? {} : { before };
  for await (const { entry } of wholeAuditBackwards(data, options)) tools.push(String(entry.tool));
  return tools;
}

function verdictAt({ data }: FleetNode): Promise<AuditVerdict> {
  return verifyAudit(data);
}

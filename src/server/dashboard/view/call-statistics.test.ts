import assert from "node:assert/strict";
import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../../test/samples/sample-folder.ts";
import { searchAudit } from "../../telemetry/audit-routes.ts";
import { CallStatistics } from "./call-statistics.ts";

const NOW = Date.UTC(2026, 0, 1, 12, 0, 30);
const MINUTE = 60_000;

async function record(data: string, ...entries: object[]): Promise<void> {
  await mkdir(join(data, "audit"), { recursive: true });
  const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  await appendFile(join(data, "audit/audit.ndjson"), lines);
}

const call = (tool: string, minutesAgo: number, more: object = {}): object => ({
  time: new Date(NOW - minutesAgo * MINUTE).toISOString(),
  tool,
  outcome: "ok",
  milliseconds: 10,
  ...more,
});

describe("the statistics of calls", () => {
  it("counts calls, errors and times by minute, and each entry once", async () => {
    await using folder = await SampleFolder.create();
    const statistics = new CallStatistics(folder.path, () => NOW);
    assert.deepEqual(await statistics.read(60), []);
    await record(
      folder.path,
      call("old", 2 * 24 * 60),
      call("read", 90),
      call("read", 1),
      call("read", 1, { milliseconds: 30 }),
      { time: new Date(NOW).toISOString(), event: "permission" },
    );
    await statistics.read(60);
    await record(folder.path, call("read", 0, { outcome: "error", milliseconds: 100 }));
    const minute = Math.floor(NOW / MINUTE);
    assert.deepEqual(await statistics.read(60), [
      {
        tool: "read",
        calls: 3,
        errors: 1,
        p50: 30,
        p95: 100,
        series: [
          [minute - 1, 2, 0, 20],
          [minute, 1, 1, 100],
        ],
      },
    ]);
    const [day] = await statistics.read(24 * 60);
    assert.equal(day?.calls, 4);
  });
});

describe("the search in the audit", () => {
  it("finds the newest first, in pages, and shows others only what is their own", async () => {
    await using folder = await SampleFolder.create();
    const owner = { id: "" };
    const guest = { id: "token 1", scopes: ["dashboard"] as const };
    await record(
      folder.path,
      call("read", 5, { caller: "Claude" }),
      call("write", 4, { principal: "token 1", arguments: { token: "planted" } }),
      call("read", 3),
    );
    const first = await searchAudit(folder.path, owner, { text: "read", limit: 1 });
    assert.equal(first.rows[0]?.time, new Date(NOW - 3 * MINUTE).toISOString());
    const second = await searchAudit(folder.path, owner, {
      text: "read",
      limit: 1,
      cursor: first.next,
    });
    assert.equal(second.rows[0]?.caller, "Claude");
    const own = await searchAudit(folder.path, guest, { text: "", limit: 10 });
    assert.deepEqual(
      own.rows.map(({ tool }) => tool),
      ["write"],
    );
    assert.doesNotMatch(JSON.stringify(own.rows), /planted/);
  });
});

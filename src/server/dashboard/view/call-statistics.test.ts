import assert from "node:assert/strict";
import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../../test/samples/sample-folder.ts";
import { searchAudit } from "../../telemetry/audit-routes.ts";
import { callStatistics } from "./call-statistics.ts";

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
    const statistics = callStatistics(folder.path, () => NOW);
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

  it("finds by time, tool, person and outcome, and says who permitted what", async () => {
    await using folder = await SampleFolder.create();
    const permission = {
      ...{ time: new Date(NOW - 2 * MINUTE).toISOString(), event: "permission" },
      ...{ workspace: "/work", title: "Run npm install", toolCallId: "t1", by: "Zed" },
      ...{ outcome: { outcome: "selected", optionId: "x", kind: "allow_once" } },
      principal: "token 1",
    };
    await record(
      folder.path,
      call("read", 90, { caller: "Claude" }),
      call("read", 5, { caller: "Claude", outcome: "error" }),
      call("write", 4, { caller: "Codex" }),
      permission,
    );
    const find = async (search: object, id = "") => {
      const principal = id === "" ? { id } : { id, scopes: ["dashboard"] as const };
      const { rows } = await searchAudit(folder.path, principal, { limit: 10, ...search });
      return rows.map(({ tool, caller, outcome }) => `${tool} ${caller} ${outcome}`);
    };
    const allowed = "Run npm install Zed allow_once";
    assert.deepEqual(await find({ outcome: "allow" }), [allowed]);
    assert.deepEqual(await find({ who: "zed" }), [allowed]);
    assert.deepEqual(await find({}, "token 1"), [allowed], "who has answered sees it");
    assert.deepEqual(await find({ who: "claude" }, "token 1"), []);
    assert.deepEqual(await find({ tool: "read", outcome: "error" }), ["read Claude error"]);
    assert.deepEqual(await find({ to: NOW - 5 * MINUTE, tool: "read" }), [
      "read Claude error",
      "read Claude ok",
    ]);
    assert.equal((await find({ from: NOW - 5 * MINUTE })).length, 3);
    assert.deepEqual(await find({ from: NOW - 4 * MINUTE, to: NOW - 3 * MINUTE }), [
      "write Codex ok",
    ]);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LiveRows } from "./live-rows.ts";
import { type LiveSource, PolledRows } from "./polled-rows.ts";
import { sourcePoller } from "./source-poller.ts";
import { until } from "../../../../test/support/until.ts";

const all = (): boolean => true;

function sourceOf(read: () => Promise<Map<string, object>>): LiveSource {
  return new PolledRows({
    ...{ event: "server", every: 5, isFor: all },
    read: async () => [...(await read())],
    idOf: ([id]) => id,
  });
}

describe("watching sources", () => {
  it("notes what is added, changed and gone, and nothing that stays", async () => {
    const rows = new LiveRows();
    let now = new Map<string, object>([["a", { state: "up" }]]);
    using watching = sourcePoller({
      rows,
      sources: [sourceOf(async () => now)],
      failed: () => {},
    });
    using _watcher = await watching.enter();
    const { last } = rows;
    now = new Map([
      ["a", { state: "up" }],
      ["b", { state: "starting" }],
    ]);
    await until(() => rows.last === last + 1);
    now = new Map();
    await until(() => rows.last === last + 3);
    const told = rows.after(last)?.map(({ id, row }) => [id, row]);
    assert.deepEqual(told, [
      ["a", null],
      ["b", null],
    ]);
  });

  it("looks at nothing before the first watcher and after the last", async () => {
    const rows = new LiveRows();
    let looks = 0;
    const source = sourceOf(async () => {
      looks++;
      return new Map();
    });
    using watching = sourcePoller({ rows, sources: [source], failed: () => {}, linger: 1 });
    assert.equal(looks, 0);
    const watcher = await watching.enter();
    const { last } = rows;
    watcher[Symbol.dispose]();
    await until(() => rows.last > last);
    const after = looks;
    await new Promise((resolve) => setTimeout(resolve, 30));
    assert.equal(looks, after);
    assert.equal(rows.after(last), undefined, "a watcher that comes back has missed something");
  });

  it("goes on after a look has failed, and reports only the first failure, and when it is over", async () => {
    const rows = new LiveRows();
    let looks = 0;
    const failures: unknown[] = [];
    const source = sourceOf(async () => {
      if (++looks < 4) throw new Error("disk");
      return new Map([["a", { looks }]]);
    });
    const failed = (error: unknown): void => {
      failures.push(error);
    };
    const recovered = (): void => {
      failures.push("over");
    };
    using watching = sourcePoller({ rows, sources: [source], failed, recovered });
    using _watcher = await watching.enter();
    await until(() => failures.length > 1);
    assert.deepEqual(failures, [new Error("disk"), "over"]);
  });
});

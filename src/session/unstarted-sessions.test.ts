import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Log } from "../base/log.ts";
import type { SessionStore } from "./store.ts";
import { UnstartedSessions } from "./unstarted-sessions.ts";

describe("UnstartedSessions", () => {
  it("tries again to delete what could not be deleted", async () => {
    let isBroken = true;
    const deleted: string[] = [];
    const store = {
      delete: async (id: string) => {
        if (isBroken) throw new Error("the disk is full");
        deleted.push(id);
      },
    } as SessionStore;
    const unstarted = new UnstartedSessions(store, new Log("error", () => {}));
    await unstarted.delete("a", async () => {});
    assert.deepEqual([...unstarted.ids], ["a"]);
    isBroken = false;
    await unstarted.delete("b", async () => {});
    assert.deepEqual([[...unstarted.ids], deleted], [[], ["a", "b"]]);
  });

  it("keeps the record until everything else of a session is removed, and does not wait for it", async () => {
    const deleted: string[] = [];
    const store = { delete: async (id: string) => void deleted.push(id) } as SessionStore;
    const unstarted = new UnstartedSessions(store, new Log("error", () => {}));
    let isBusy = true;
    await unstarted.delete("a", async () => {
      if (isBusy) throw new Error("its workspace is busy");
    });
    await unstarted.delete("b", async () => {});
    assert.deepEqual([unstarted.ids, unstarted.has("a"), deleted], [["a"], true, ["b"]]);
    isBusy = false;
    await unstarted.deleteAll();
    assert.deepEqual([unstarted.ids, deleted], [[], ["b", "a"]]);
  });
});

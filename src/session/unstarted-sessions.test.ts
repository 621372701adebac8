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
    await unstarted.delete("a");
    assert.deepEqual([...unstarted.ids], ["a"]);
    isBroken = false;
    await unstarted.delete("b");
    assert.deepEqual([[...unstarted.ids], deleted], [[], ["a", "b"]]);
  });
});

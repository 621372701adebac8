import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { onAbort } from "../../base/abort.ts";
import { Log } from "../../base/log.ts";
import type { RepositoryCache } from "../repository-cache.ts";
import { tidy } from "../runs.ts";
import type { Hibernation } from "./hibernate.ts";
import type { Workspaces } from "./workspace.ts";

describe("tidy()", () => {
  it("first unmounts workspaces, then hibernates them, and stops when it is closed", async () => {
    const done: string[] = [];
    const begun = Promise.withResolvers<void>();
    // A mock: only the order of its calls matters.
    const workspaces = {
      sweep: async () => void done.push("sweep"),
      hibernate: async ({ signal, failed }: Hibernation) => {
        failed("abc", new Error("the disk is full"));
        begun.resolve();
        await new Promise<void>((resolve) => onAbort(signal, () => resolve()));
        done.push("hibernate");
      },
    } as unknown as Workspaces;
    const lines: string[] = [];
    const log = new Log("warn", (line) => lines.push(line));
    const cache = {} as RepositoryCache;
    const tidying = tidy({ workspaces, cache, hibernateAfter: 1, log });
    await begun.promise;
    await tidying[Symbol.asyncDispose]();
    assert.deepEqual(done, ["sweep", "hibernate"]);
    assert.match(lines.join(), /run\.not-hibernated.*the disk is full/);
  });
});

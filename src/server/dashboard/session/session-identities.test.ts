import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sessionIdentities } from "./session-rows.ts";

const place = (cwd: string) => ({ agent: "a", cwd });

describe("the identities of sessions", () => {
  it("are looked up once for each folder, one after the other", async () => {
    const asked: string[] = [];
    let atOnce = 0;
    const identities = sessionIdentities(async (agent, cwd) => {
      assert.equal(++atOnce, 1);
      await new Promise(setImmediate);
      atOnce--;
      asked.push(`${agent} ${cwd}`);
      if (cwd === "/gone") throw new Error("There is no such folder");
      return cwd === "/site" ? "work" : undefined;
    });
    const places = ["/site", "/gone", "/site", "/other"].map(place);
    await Promise.all([identities.look(places), identities.look(places)]);
    await identities.look(places);
    assert.deepEqual(asked, ["a /site", "a /gone", "a /other"]);
    assert.deepEqual(
      places.map((each) => identities.of(each)),
      ["work", undefined, "work", undefined],
    );
  });

  it("are not waited for long, and are there later", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const identities = sessionIdentities(() => promise);
    await identities.look([place("/slow")]);
    assert.equal(identities.of(place("/slow")), undefined);
    resolve("work");
    await promise;
    await identities.look([place("/other")]);
    assert.equal(identities.of(place("/slow")), "work");
  });
});

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { GuardPasses } from "./guard-pass.ts";

describe("GuardPasses", () => {
  it("gives a pass that works once, for its work tree only", async () => {
    await using folder = await SampleFolder.create();
    const passes = new GuardPasses(folder.path);
    await passes.give("/one", "a hotfix");
    assert.equal(await passes.take("/two"), undefined);
    assert.equal((await passes.take("/one"))?.reason, "a hotfix");
    assert.equal(await passes.take("/one"), undefined);
  });

  it("gives it to one of several concurrent users", async () => {
    await using folder = await SampleFolder.create();
    await new GuardPasses(folder.path).give("/one");
    const taken = await Promise.all(
      Array.from({ length: 5 }, () => new GuardPasses(folder.path).take("/one")),
    );
    assert.equal(taken.filter((pass) => pass !== undefined).length, 1);
  });

  it("does not accept an expired or unreadable pass", async () => {
    await using folder = await SampleFolder.create();
    const passes = new GuardPasses(folder.path);
    const pass = await passes.give("/one");
    const path = join(folder.path, "identity/passes.json");
    const expired = { ...pass, until: "2020-01-01T00:00:00.000Z" };
    writeFileSync(path, JSON.stringify({ "/one": expired }));
    assert.equal(await passes.take("/one"), undefined);
    await passes.give("/one");
    writeFileSync(path, "{");
    assert.equal(await passes.take("/one"), undefined);
  });
});

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../test/samples/sample-folder.ts";
import { LoginStates } from "./login-states.ts";

describe("LoginStates", () => {
  it("keep what several processes write at once, and a stamp that differs after each", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "data/logins.json");
    const open = (): LoginStates<{ n: number }> => new LoginStates(path);
    const first = open().stamp();
    await Promise.all([1, 2, 3].map((n) => open().change(`k${n}`, () => ({ n }))));
    for (const n of [1, 2, 3]) assert.deepEqual(await open().get(`k${n}`), { n });
    const second = open().stamp();
    assert.notEqual(first, second);
    await open().change("k1", () => undefined);
    assert.notEqual(open().stamp(), second);
    assert.equal(await open().get("k1"), undefined);
    assert.equal(await open().get("__proto__"), undefined);
  });

  it("count an unreadable file as empty", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "logins.json");
    await mkdir(folder.path, { recursive: true });
    await writeFile(path, "{ broken");
    const states = new LoginStates<object>(path);
    assert.equal(await states.get("a"), undefined);
    await states.change("a", () => ({ x: 1 }));
    assert.deepEqual(await states.get("a"), { x: 1 });
  });
});

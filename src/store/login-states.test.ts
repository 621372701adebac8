import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../test/samples/sample-folder.ts";
import { DiskFaults } from "../../test/support/disk-faults.ts";
import { LoginStates } from "./login-states.ts";

interface State {
  readonly issuer: string;
}

const A: State = { issuer: "https://a.example" };
const B: State = { issuer: "https://b.example" };

describe("LoginStates", () => {
  it("change one login, and keep the others", async () => {
    await using folder = await SampleFolder.create();
    const states = new LoginStates<State>(join(folder.path, "logins.json"));
    assert.equal(states.stamp(), "none");
    await states.change("a", () => A);
    const before = states.stamp();
    await states.change("b", () => B);
    assert.notEqual(states.stamp(), before);
    assert.deepEqual(await states.get("a"), A);
    await states.change("a", (known) => (assert.deepEqual(known, A), undefined));
    assert.equal(await states.get("a"), undefined);
    assert.deepEqual(await states.get("b"), B);
    assert.equal(await states.get("toString"), undefined);
  });

  it("forget no login because the file cannot be read at the moment", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "logins.json");
    const states = new LoginStates<State>(path);
    await states.change("a", () => A);
    {
      using disk = new DiskFaults(folder.path);
      disk.decide = (call) => (call.path === path ? "EIO" : undefined);
      await assert.rejects(
        states.change("b", () => B),
        /Cannot read '.*logins\.json': /,
      );
      await assert.rejects(states.get("a"), /Cannot read/);
    }
    assert.deepEqual(await states.get("a"), A);
  });

  it("begin anew where the file is damaged", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path, { recursive: true });
    const path = join(folder.path, "logins.json");
    for (const text of ["{", "null", '"a"', ""]) {
      await writeFile(path, text);
      const states = new LoginStates<State>(path);
      assert.equal(await states.get("a"), undefined, text);
      await states.change("a", () => A);
      assert.deepEqual(await states.get("a"), A, text);
    }
  });
});

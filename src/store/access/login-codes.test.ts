import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { LoginCodes } from "./login-codes.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";

describe("LoginCodes", () => {
  it("work once, also in another process, and only their hashes are stored", async () => {
    await using folder = await SampleFolder.create();
    const code = await new LoginCodes(folder.path).create();
    const path = join(folder.path, "login-codes.json");
    assert.ok(!(await readFile(path, "utf8")).includes(code));
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    const running = new LoginCodes(folder.path);
    assert.equal(await running.take(`${code}x`), undefined);
    const taken = await Promise.all(Array.from({ length: 5 }, () => running.take(code)));
    assert.equal(taken.filter((one) => one !== undefined).length, 1);
    assert.equal(await running.take(code), undefined);
  });

  it("work for a quarter of an hour", async () => {
    await using folder = await SampleFolder.create();
    let now = 1_000_000;
    const codes = new LoginCodes(folder.path, () => now);
    const code = await codes.create();
    now += 15 * 60_000;
    assert.equal(await codes.take(code), undefined);
  });

  it("give no access by a file that cannot be read, and start again", async () => {
    await using folder = await SampleFolder.create();
    const codes = new LoginCodes(folder.path);
    const lost = await codes.create();
    await writeFile(join(folder.path, "login-codes.json"), "{");
    assert.equal(await codes.take(lost), undefined);
    assert.equal(await codes.take("x"), undefined);
    assert.deepEqual(await codes.take(await codes.create()), { isPairing: false });
    assert.deepEqual(await codes.take(await codes.create(true)), { isPairing: true });
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { AnswerLinks } from "./answer-links.ts";
import { openNotifyDatabase } from "./notify-database.ts";

describe("AnswerLinks", () => {
  it("answer one request with one option, until the request is closed", async () => {
    await using folder = await SampleFolder.create();
    using database = await openNotifyDatabase(folder.path);
    const links = new AnswerLinks(database);
    await links.open("r1", "s1");
    await links.open("r2", "s1");
    const [yes = "", no = ""] = (await links.make("r1", ["yes", "no"])) ?? [];
    const [other = ""] = (await links.make("r2", ["yes"])) ?? [];
    const found = { requestId: "r1", sessionId: "s1" };
    assert.deepEqual(await links.find(no), { ...found, optionId: "no" });
    // The session could not be reached: it still answers.
    assert.deepEqual(await links.find(no), { ...found, optionId: "no" });
    assert.equal(await links.find("x".repeat(43)), undefined);
    await links.close("r1");
    assert.deepEqual([await links.find(yes), await links.find(no)], [undefined, undefined]);
    assert.equal(await links.make("r1", ["yes"]), undefined, "it was answered");
    assert.equal((await links.find(other))?.optionId, "yes");
  });

  it("end with their request, and after a day", async () => {
    await using folder = await SampleFolder.create();
    using database = await openNotifyDatabase(folder.path);
    let now = 1_000_000;
    const links = new AnswerLinks(database, () => now);
    await links.open("r1", "s1");
    const [yes = ""] = (await links.make("r1", ["yes"])) ?? [];
    assert.ok(await links.isOpen("r1"));
    await links.close("r1");
    assert.ok(!(await links.isOpen("r1")));
    assert.equal(await links.find(yes), undefined);
    await links.open("r2", "s1");
    const [late = ""] = (await links.make("r2", ["yes"])) ?? [];
    now += 24 * 60 * 60_000;
    assert.equal(await links.find(late), undefined);
  });
});

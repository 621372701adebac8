import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { AnswerLinks } from "./answer-links.ts";
import { openNotifyDatabase } from "./notify-database.ts";

describe("AnswerLinks", () => {
  it("answer one request with one option, once, also if two come at the same time", async () => {
    await using folder = await SampleFolder.create();
    using database = await openNotifyDatabase(folder.path);
    const links = new AnswerLinks(database);
    await links.open("r1", "s1");
    await links.open("r2", "s1");
    const [yes = "", no = ""] = (await links.make("r1", ["yes", "no"])) ?? [];
    const [other = ""] = (await links.make("r2", ["yes"])) ?? [];
    const taken = await Promise.all([links.take(yes), links.take(no), links.take(yes)]);
    assert.deepEqual(
      taken.filter((one) => one !== undefined).map(({ requestId }) => requestId),
      ["r1"],
    );
    assert.equal(await links.make("r1", ["yes"]), undefined, "it was answered");
    assert.equal((await links.take(other))?.optionId, "yes");
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
    assert.equal(await links.take(yes), undefined);
    await links.open("r2", "s1");
    const [late = ""] = (await links.make("r2", ["yes"])) ?? [];
    now += 24 * 60 * 60_000;
    assert.equal(await links.take(late), undefined);
  });

  it("are valid again if the answer did not reach the session", async () => {
    await using folder = await SampleFolder.create();
    using database = await openNotifyDatabase(folder.path);
    const links = new AnswerLinks(database);
    await links.open("r1", "s1");
    const [yes = ""] = (await links.make("r1", ["yes"])) ?? [];
    const taken = await links.take(yes);
    assert.ok(taken !== undefined);
    await links.giveBack(yes, taken);
    assert.deepEqual(await links.take(yes), taken);
  });
});

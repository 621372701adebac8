import assert from "node:assert/strict";
import { cpSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { sampleLines, SampleRepository } from "../../test/samples/sample-review-repository.ts";
import { type BriefView, briefViews } from "./brief-list.ts";
import type { ReviewCommands } from "./review-commands.ts";

const SAID = { comment: "So\nand so", by: "ada", source: "test" };

/** What the whole views have of it. */
async function expected(commands: ReviewCommands): Promise<BriefView[]> {
  return (await commands.list()).map((view) => {
    const { id, state, severity, file, line, end, side, confidence, comment } = view;
    const { original, repository, isRepositoryGone } = view;
    return {
      ...{ id, state, severity, file, side, confidence, comment, repository },
      ...(line === undefined || end === undefined ? {} : { line, end }),
      ...(original === undefined
        ? {}
        : { original: { file: original.file, ...(original.line && { line: original.line }) } }),
      ...(isRepositoryGone === undefined ? {} : { isRepositoryGone }),
    };
  });
}

describe("briefViews()", () => {
  it("tells of every thread what the whole list tells", async () => {
    using sample = new SampleRepository();
    for (const file of ["same", "changed", "renamed", "removed"]) {
      sample.write(`${file}.txt`, sampleLines(20, file));
    }
    sample.commit();
    const other = join(sample.parent, "other");
    cpSync(sample.root, other, { recursive: true });
    {
      using elsewhere = await sample.commands(other);
      await elsewhere.add({ ...SAID, file: "same.txt", line: 2 });
    }
    using commands = await sample.commands();
    for (const file of ["same", "changed", "renamed", "removed"]) {
      await commands.add({ ...SAID, file: `${file}.txt`, line: 5, end: 6 });
      await commands.add({ ...SAID, file: `${file}.txt` });
    }
    await commands.add({ ...SAID, file: "same.txt", line: 3, side: "old" });
    const common = { repository: commands.here, severity: "nit", ...SAID } as const;
    const quote = ["changed number 7 of this file"];
    const anchor = { path: "changed.txt", side: "new", line: 2, end: 2, quote } as const;
    await commands.reviews.add({ ...common, anchor });
    const [first] = await commands.reviews.list();
    await commands.reviews.claim({ agent: "a", lease: -1, id: first?.id });
    sample.write("changed.txt", `new\n${sampleLines(20, "changed")}`);
    renameSync(join(sample.root, "renamed.txt"), join(sample.root, "elsewhere.txt"));
    rmSync(join(sample.root, "removed.txt"));
    rmSync(other, { recursive: true });
    const views = await briefViews(commands, await commands.reviews.listBriefly({}));
    const shown = views.map(({ dependsOn: _dependsOn, ...view }) => view);
    assert.deepEqual(shown, await expected(commands));
    const searched = views.filter(({ dependsOn }) => dependsOn === "files");
    assert.deepEqual(
      new Set(searched.map(({ file }) => file)),
      new Set(["elsewhere.txt", "removed.txt"]),
    );
    assert.deepEqual(
      new Set(views.map(({ confidence, line }) => `${confidence} ${line}`)),
      new Set(["gone undefined", "exact 5", "exact undefined", "exact 6", "exact 3", "high 8"]),
    );
  });

  it("shows the threads of one repository, in the wanted states, in their order", async () => {
    using sample = new SampleRepository();
    sample.write("a", "1\n");
    using commands = await sample.commands();
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) ids.push((await commands.add({ ...SAID, file: "a" })).id);
    await commands.resolve(ids[3] ?? "", { by: "ada", role: "person" });
    const { gitDir } = commands.here;
    const open = await commands.reviews.listBriefly({ gitDir, states: ["open"] });
    assert.deepEqual(
      open.map(({ id }) => id),
      ids.filter((_, n) => n !== 3),
    );
    assert.deepEqual(await commands.reviews.listBriefly({ gitDir: "/nothing" }), []);
  });
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DiskFaults } from "../../test/support/disk-faults.ts";
import { DrivenAgent } from "../../test/agent/driven-agent.ts";

describe("files that an external agent uses", { timeout: 30_000 }, () => {
  it("cannot be written through a dangling link that leads out of the workspace", async () => {
    await using driven = await DrivenAgent.open();
    const outside = `${driven.folder}-outside`;
    symlinkSync(outside, join(driven.folder, "link"));
    const said = await driven.say(`write ${driven.folder}/link|text`);
    assert.match(said, /error -31701/);
    writeFileSync(join(driven.folder, "real"), "text");
    symlinkSync("real", join(driven.folder, "inner"));
    assert.equal(await driven.say(`read ${driven.folder}/inner`), "text");
  });

  it("stay as they were where the disk is full", async () => {
    await using driven = await DrivenAgent.open();
    const path = join(driven.folder, "file");
    writeFileSync(path, "old");
    using disk = new DiskFaults(driven.folder);
    disk.decide = ({ operation }) => (operation.startsWith("write") ? "torn" : undefined);
    const said = await driven.say(`write ${path}|a longer text`);
    assert.match(
      said,
      /error -32032.*Cannot use '.*file': no space left.*Free some space on its disk/,
    );
    assert.equal(readFileSync(path, "utf8"), "old");
  });

  it("are refused if they are a pipe in the workspace, instead of waiting for ever", async () => {
    await using driven = await DrivenAgent.open();
    const pipe = join(driven.folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    assert.match(await driven.say(`read ${pipe}`), /error -31701/);
    assert.match(await driven.say(`write ${pipe}|text`), /error -31701/);
  });
});

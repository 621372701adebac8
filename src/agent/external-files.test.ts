import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

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

  it("are refused if they are a pipe in the workspace, instead of waiting for ever", async () => {
    await using driven = await DrivenAgent.open();
    const pipe = join(driven.folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    assert.match(await driven.say(`read ${pipe}`), /error -31701/);
    assert.match(await driven.say(`write ${pipe}|text`), /error -31701/);
  });
});

import assert from "node:assert/strict";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { RunAgentRig } from "../../test/samples/run-agent-rig.ts";
import { git } from "../../test/samples/sample-runs.ts";
import { watchDisk } from "./open/confined-agent.ts";
import { limitsFor } from "./run-limits.ts";

describe("limitsFor()", () => {
  it("takes the entry of the repository, which that of a token can only lower", () => {
    const settings = {
      cpus: 2,
      repositories: { "git.example/team/*": { memory: 8e9, disk: 1e9 } },
      tokens: { small: { memory: 1e9, cpus: 16, time: 60 } },
    };
    const url = "https://git.example/team/app.git";
    assert.deepEqual(limitsFor({}, url), { memory: 4 * 1024 ** 3, processes: 512, cpus: 4 });
    const whole = { memory: 8e9, processes: 512, cpus: 2, disk: 1e9 };
    assert.deepEqual(limitsFor(settings, url), whole);
    assert.deepEqual(limitsFor(settings, url, "constructor"), whole);
    assert.deepEqual(limitsFor(settings, url, "small"), { ...whole, memory: 1e9, time: 60 });
    const other = limitsFor(settings, "https://git.example/other/app.git");
    assert.deepEqual(other, { memory: 4 * 1024 ** 3, processes: 512, cpus: 2 });
  });
});

describe("the time limit of a run", () => {
  it("ends a turn, says so, and pushes what is done by then", async () => {
    await using rig = await RunAgentRig.open({ limitsOf: () => limitsFor({ time: 1 }, "") });
    await using session = await rig.session(async (cwd) => {
      writeFileSync(join(cwd, "half.txt"), "half\n");
      await new Promise(() => {});
    });
    const end = await session.prompt(rig.turn("Work"));
    assert.equal(end.stopReason, "max_turn_requests");
    const { target } = end._meta as { target: { branch: string } };
    assert.equal(git(rig.remote, "show", `${target.branch}:half.txt`), "half");
    assert.match(JSON.stringify(rig.updates), /The turn was ended after 1 s/);
  });
});

describe("watchDisk()", () => {
  it("calls back once a folder takes more than the limit, with what to do", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "disk-"));
    const { promise, resolve } = Promise.withResolvers<string>();
    using _ = watchDisk(folder.path, 1 << 20, async (why) => resolve(why), 5);
    writeFileSync(join(folder.path, "large"), Buffer.alloc(2 << 20, 1));
    assert.match(await promise, /take \d+ bytes on disk, and `remote\.limits` allows 1048576/);
  });
});

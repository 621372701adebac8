import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { probeSandbox } from "../../src/sandbox/probe.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { leftInTheEnd } from "../support/remote-run/run-leftovers.ts";
import { promptOf } from "../support/acp-socket.ts";
import { openingOf, RunRig } from "../support/remote-run/run-rig.ts";

const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

describe("remote runs", { timeout: 600_000, skip: WITHOUT_SSHD || noSandbox }, () => {
  it("begin with what was prepared in advance, and a killed server leaves nothing of it", async () => {
    await using run = await RunRig.start();
    const project = run.project("spare");
    const work = join(run.folder, "work");
    const spares = (): string[] =>
      readdirSync(work).filter((name) => {
        const facts = join(work, name, "workspace.json");
        return existsSync(facts) && JSON.parse(readFileSync(facts, "utf8")).isSpare === true;
      });
    let sessionId: string;
    let spare: string | undefined;
    {
      using ide = await run.connect();
      await ide.ask("session/new", openingOf(project));
      await ide.ask("session/new", openingOf(project));
      while (spares().length === 0) await pause(20);
      [spare] = spares();
      const third = await ide.ask("session/new", openingOf(project));
      ({ sessionId } = third);
      assert.equal(third._meta.target.branch, `agent/${spare}`);
      // The third has one prepared for the fourth.
      while (spares().length === 0) await pause(20);
    }
    const abandoned = spares();
    assert.ok(!abandoned.includes(spare ?? ""));
    await run.killAndRestart();
    using ide = await run.connect();
    const resumed = await ide.ask("session/resume", { sessionId, cwd: "", mcpServers: [] });
    assert.equal(resumed._meta.target.branch, `agent/${spare}`);
    const loaded = await ide.ask("session/load", { sessionId, cwd: "", mcpServers: [] });
    assert.deepEqual(loaded._meta.target, resumed._meta.target);
    const end = await ide.ask("session/prompt", promptOf(sessionId, "put new.txt|new|0"));
    assert.equal(end._meta.target.branch, `agent/${spare}`);
    const shown = project.git("--git-dir", project.bare, "show", `agent/${spare}:new.txt`);
    assert.equal(shown, "new");
    while (abandoned.some((name) => existsSync(join(work, name)))) await pause(20);
    const { sessions } = await ide.ask("session/list", {});
    for (const each of sessions) await ide.ask("session/delete", { sessionId: each.sessionId });
    await run.stop();
    assert.deepEqual(await leftInTheEnd(run.rig.root, run.folder), []);
  });
});

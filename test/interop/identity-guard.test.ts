import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import type { GitRig } from "../support/git-rig/git-rig.ts";
import {
  COMMIT,
  COMMIT_PAST_IT,
  GUARD_ALICE,
  GuardClones,
} from "../support/git-rig/guard-clones.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";

describe(
  "trunkline identity guard, as git asks it",
  { timeout: 600_000, skip: WITHOUT_SSHD },
  () => {
    let clones: GuardClones;
    let rig: GitRig;

    before(async () => {
      clones = await GuardClones.start();
      ({ rig } = clones);
    });

    after(() => clones[Symbol.asyncDispose]());

    it("refuses a push with the wrong account: another's key, or any key of an agent", async () => {
      const { cwd, pushes } = clones.guarded("team");
      await rig.must(COMMIT_PAST_IT, { cwd });
      const wrong = { GIT_SSH_COMMAND: `ssh -i ${rig.ssh.keyOf("bob")} -o IdentitiesOnly=yes` };
      const { code, err } = await rig.run("git push -q origin main", { cwd, env: wrong });
      assert.notEqual(code, 0);
      assert.match(err, /ssh would offer '.*id_bob' instead of the key of 'alice'/);
      const any = { GIT_SSH_COMMAND: `ssh -i ${rig.ssh.keyOf("alice")}` };
      const loose = await rig.run("git push -q origin main", { cwd, env: any });
      assert.notEqual(loose.code, 0);
      assert.match(loose.err, /the agent's keys before the key of 'alice'/);
      assert.deepEqual(pushes(), []);
    });

    it("refuses a push to a repository of another identity", async () => {
      const { cwd } = clones.guarded();
      const theirs = clones.make("team");
      rig.configure({ identities: rig.identities({ bob: { organizations: ["team"] } }) });
      await rig.must(COMMIT_PAST_IT, { cwd });
      const { code, err } = await rig.run(`git push -q ${rig.sshUrl(theirs.name)} main`, { cwd });
      assert.notEqual(code, 0);
      assert.match(err, /The push is for identity 'bob', but 'alice' is active/);
      assert.match(err, /One commit is made as 'alice'/);
      assert.deepEqual(theirs.pushes(), []);
    });

    it("leaves a shared hooks folder alone, and runs its hooks", async () => {
      const { cwd } = clones.make();
      const shared = join(rig.home, "hooks");
      mkdirSync(shared);
      const log = join(cwd, "hooks.log");
      for (const name of ["pre-commit", "commit-msg"]) {
        writeFileSync(join(shared, name), `#!/bin/sh\necho ${name} >> ${log}\n`);
        chmodSync(join(shared, name), 0o755);
      }
      const GIT_CONFIG_GLOBAL = join(shared, "gitconfig");
      writeFileSync(GIT_CONFIG_GLOBAL, `[core]\n\thooksPath = ${shared}\n`);
      const here = { cwd, env: { GIT_CONFIG_GLOBAL } };
      await rig.inProcess(GUARD_ALICE, here);
      await rig.must(COMMIT, here);
      assert.equal(readFileSync(log, "utf8"), "pre-commit\ncommit-msg\n");
      assert.doesNotMatch(readFileSync(join(shared, "pre-commit"), "utf8"), /Trunkline/);
      const wrong = "git -c user.email=bob@rig.test commit -q --allow-empty -m x";
      assert.equal((await rig.run(wrong, here)).code, 1);
      // Another repository is not guarded.
      const other = rig.makeClone("other", rig.sshUrl("alice/app"));
      await rig.must(`git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x`, {
        ...here,
        cwd: other,
      });
      await rig.inProcess(["identity guard remove"], here);
      assert.equal(await rig.must("git config core.hooksPath", here), shared);
      assert.equal((await rig.run("git config --local core.hooksPath", here)).code, 1);
      await rig.must(wrong, here);
    });
  },
);

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { BOBS, CredentialClones } from "../support/git-rig/credential-clones.ts";
import type { GitRig } from "../support/git-rig/git-rig.ts";
import { COMMIT, GUARD_ALICE } from "../support/git-rig/guard-clones.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";

/** Says for everything that it is bob's, with what is in `BOBS`: the token stands in no file. */
const BOBS_HELPER = "!f() { echo username=bob; echo password=$BOBS; }; f";

describe(
  "trunkline identity credential, beside other helpers and the guard",
  { timeout: 600_000, skip: WITHOUT_SSHD },
  () => {
    let clones: CredentialClones;
    let rig: GitRig;

    before(async () => {
      clones = await CredentialClones.start();
      ({ rig } = clones);
    });

    after(() => clones[Symbol.asyncDispose]());

    it("makes git fail instead of using another's token, whatever other helpers know", async () => {
      const { cwd, pushers } = clones.make();
      clones.configure({ bob: { match: [{ owner: "team" }] } });
      const GIT_CONFIG_GLOBAL = join(cwd, "gitconfig");
      writeFileSync(GIT_CONFIG_GLOBAL, `[credential]\n\thelper = "${BOBS_HELPER}"\n`);
      const [text = ""] = await rig.inProcess(["identity env alice --json"]);
      const plan = JSON.parse(text) as { readonly set: NodeJS.ProcessEnv };
      const here = { cwd, env: { ...plan.set, GIT_CONFIG_GLOBAL, BOBS } };
      await rig.must(COMMIT, here);
      const seen = rig.forge.seen.length;
      const { code, err } = await rig.run("git push -q origin main", here);
      assert.equal(code, 128);
      assert.match(err, /belongs to identity 'bob', but 'alice' is active/);
      assert.deepEqual(pushers(), []);
      const asked = rig.forge.seen.slice(seen).map(({ account }) => account);
      assert.deepEqual([...new Set(asked)], [undefined]);
    });

    it("knows on a host with a port whose repository it is, as detection and the guard do", async () => {
      const { cwd, pushers } = clones.make();
      clones.configure({ alice: { organizations: ["sales"] }, bob: { organizations: ["team"] } });
      const [detected = ""] = await rig.inProcess(["identity detect --json"], { cwd });
      assert.equal((JSON.parse(detected) as { identity: string }).identity, "bob");
      await rig.inProcess(["identity switch alice"], { cwd });
      await rig.must(COMMIT, { cwd });
      const seen = rig.forge.seen.length;
      const { code, err } = await rig.run("git push -q origin main", { cwd });
      assert.equal(code, 128);
      assert.match(err, /belongs to identity 'bob', but 'alice' is active/);
      assert.ok(rig.forge.seen.slice(seen).every(({ account }) => account === undefined));
      await rig.inProcess(["identity switch bob", "identity guard install"], { cwd });
      const refused = await rig.run("git push -q origin main", { cwd });
      assert.match(refused.err, /made as 'alice', but the push is for 'bob'/);
      await rig.must("git commit -q --amend --no-edit --allow-empty --reset-author", { cwd });
      await rig.must("git push -q origin main", { cwd });
      assert.deepEqual(pushers(), ["bob"]);
    });

    it("is checked by the guard, which refuses an HTTPS push as somebody else", async () => {
      const { cwd, pushers } = clones.make();
      await rig.inProcess(GUARD_ALICE, { cwd });
      await rig.must(`${COMMIT} --no-verify`, { cwd });
      const as = `git -c credential.helper= -c credential.helper='${BOBS_HELPER}' push -q origin main`;
      const { code, err } = await rig.run(as, { cwd, env: { BOBS } });
      assert.notEqual(code, 0);
      assert.match(err, /Git would log in as 'bob', but 'alice' is user 'alice'/);
      assert.deepEqual(pushers(), []);
      await rig.must("git push -q origin main", { cwd });
      assert.deepEqual(pushers(), ["alice"]);
    });
  },
);

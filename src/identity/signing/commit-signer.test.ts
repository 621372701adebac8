import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Git } from "../../git/git.ts";
import type { Signing } from "../identity.ts";
import { signerOf, signingKeysOf } from "./commit-signer.ts";
import { GPG_IS_MISSING, SampleGpg, signer } from "../../../test/samples/sample-gpg.ts";
import { quietRunner } from "./signing-readiness.ts";

describe("signerOf()", { skip: GPG_IS_MISSING }, () => {
  it("finds the signer of a commit, with gpg and with ssh, in any encoding", async () => {
    using gpg = new SampleGpg();
    gpg.makeKey("ada@rig.test");
    const key = gpg.makeSshKey("id");
    gpg.run("git", "init", "-q", "repo");
    const folder = join(gpg.path, "repo");
    const commit = (format: string, signingKey: string, message: string, sign = true): string => {
      const config = [`gpg.format=${format}`, `user.signingKey=${signingKey}`, "user.name=Ada"];
      const more = ["user.email=ada@rig.test", "i18n.commitEncoding=latin1"];
      const options = [...config, ...more].flatMap((each) => ["-c", each]);
      const args = ["commit", "-q", "--allow-empty", "-m", message, ...(sign ? ["-S"] : [])];
      gpg.run("git", "-C", folder, ...options, ...args);
      return gpg.run("git", "-C", folder, "rev-parse", "HEAD").trim();
    };
    const byGpg = commit("openpgp", "ada@rig.test", "caf\u00e9");
    const bySsh = commit("ssh", key, "caf\u00e9\n\nmore");
    const byNobody = commit("openpgp", "", "plain", false);
    const git = new Git(folder, { env: gpg.env });
    const ask = quietRunner({ env: gpg.env });
    const pgp = signer({ format: "openpgp" });
    const ssh = signer({ format: "ssh", key });
    const keysOf = async (who: typeof pgp) => await signingKeysOf(who, who.signing as Signing, ask);
    const found = await signerOf(git, byGpg, ask);
    assert.ok(typeof found === "object" && found.keys.includes((await keysOf(pgp))[0] ?? "-"));
    assert.deepEqual(await signerOf(git, bySsh, ask), { keys: await keysOf(ssh) });
    assert.equal(await signerOf(git, byNobody, ask), "nobody");
  });
});

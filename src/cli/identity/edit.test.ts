import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const ADD = ["identity", "add", "work", "--provider", "github", "--user", "ada"];

describe("trunkline identity add", () => {
  it("writes an identity to the configuration, and refuses the same name again", async () => {
    await using line = await SampleCommandLine.create();
    const { userFile } = line.home;
    const added = await line.run(...ADD, "--email", "ada@acme.test");
    assert.deepEqual(added, {
      code: 0,
      out: `Added identity 'work' to ${userFile}.\n`,
      err: "",
    });
    const { identities } = JSON.parse(readFileSync(userFile, "utf8")) as { identities: object };
    const work = { provider: "github", user: "ada", email: "ada@acme.test" };
    assert.deepEqual(identities, { work });
    const again = await line.run(...ADD, "--email", "ada@other.test");
    assert.equal(again.code, 2);
    assert.match(again.err, /'work'/);
  });

  it("names the missing options if nobody can be asked", async () => {
    await using line = await SampleCommandLine.create();
    const { code, err } = await line.run("identity", "add", "work", "--user", "ada");
    assert.equal(code, 2);
    assert.match(err, /Cannot add identity 'work' without --provider, --email\n/);
  });

  it("keeps `~/` in the path of a key, and makes other paths absolute", async () => {
    await using line = await SampleCommandLine.create();
    const email = ["--email", "ada@acme.test"];
    const own = await line.json<{ sshKey: string }>(...ADD, ...email, "--ssh-key", "~/.ssh/id");
    assert.equal(own.sshKey, "~/.ssh/id");
    const other = await line.json<{ sshKey: string }>(
      ...["identity", "edit", "work", "--ssh-key", "keys/id"],
    );
    assert.equal(other.sshKey, join(line.home.project, "keys/id"));
  });
});

describe("trunkline identity edit", () => {
  const config = {
    identities: {
      work: {
        provider: "github",
        user: "ada",
        email: "ada@acme.test",
        host: "git.acme.test",
        signing: { format: "ssh", key: "~/.ssh/id.pub" },
        organizations: ["acme"],
      },
    },
  };

  it("changes named settings, and removes those that are given empty", async () => {
    await using line = await SampleCommandLine.create(config);
    const changed = await line.json<Record<string, unknown>>(
      ...["identity", "edit", "work", "--host=", "--organization="],
      ...["--match", "path=~/src/acme, host=github.com", "--token-source", "env:WORK_TOKEN"],
    );
    assert.equal(changed["host"], undefined);
    assert.equal(changed["organizations"], undefined);
    assert.equal(changed["email"], "ada@acme.test");
    assert.deepEqual(changed["match"], [{ path: "~/src/acme", host: "github.com" }]);
    assert.deepEqual(changed["tokenSource"], { kind: "environment", variable: "WORK_TOKEN" });
  });

  it("drops the signing key when the signing format changes", async () => {
    await using line = await SampleCommandLine.create(config);
    type Edited = { readonly signing?: object };
    const edit = (...args: string[]) => line.json<Edited>("identity", "edit", "work", ...args);
    assert.deepEqual((await edit("--signing", "openpgp")).signing, { format: "openpgp" });
    const keyed = await edit("--signing-key", "ABCD");
    assert.deepEqual(keyed.signing, { format: "openpgp", key: "ABCD" });
    assert.equal((await edit("--signing", "none")).signing, undefined);
  });

  it("accepts an SSH signing key as a file or as text", async () => {
    await using line = await SampleCommandLine.create(config);
    type Edited = { readonly signing: { readonly key: string } };
    const edit = (key: string) =>
      line.json<Edited>("identity", "edit", "work", "--signing-key", key);
    assert.equal((await edit("id.pub")).signing.key, join(line.home.project, "id.pub"));
    assert.equal((await edit("key::ssh-ed25519 AAAA")).signing.key, "key::ssh-ed25519 AAAA");
  });

  for (const [args, why] of [
    [["--email", "ada@acme.test"], /Cannot edit identity 'work': nothing is different/],
    [["--match", "folder=x"], /Cannot read the match rule 'folder=x'/],
    [["--token-source", "env:"], /Cannot read --token-source/],
  ] as const) {
    it(`refuses ${args.join(" ")}, and changes nothing`, async () => {
      await using line = await SampleCommandLine.create(config);
      const before = readFileSync(line.home.userFile, "utf8");
      const { code, err } = await line.run("identity", "edit", "work", ...args);
      assert.equal(code, 2);
      assert.match(err, why);
      assert.equal(readFileSync(line.home.userFile, "utf8"), before);
    });
  }

  it("never prints the value of --token-source, which may be the token", async () => {
    await using line = await SampleCommandLine.create(config);
    const { err } = await line.run("identity", "edit", "work", "--token-source", "ghp_secret");
    assert.doesNotMatch(err, /ghp_secret/);
  });
});

describe("trunkline identity remove", () => {
  it("removes an identity, and says so if there is none", async () => {
    await using line = await SampleCommandLine.create({
      identities: { old: { provider: "github", user: "ada", email: "ada@old.test" } },
    });
    assert.deepEqual(await line.json("identity", "remove", "old"), { removed: "old" });
    const { code, err } = await line.run("identity", "remove", "old");
    assert.equal(code, 1);
    assert.match(err, /'old'/);
  });
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { dirname } from "node:path";
import { describe, it } from "node:test";

import { resolveIdentity } from "../../identity/identity.ts";
import { type Tokens, openTokens } from "../../identity/tokens/tokens.ts";
import type { ValidationFinding } from "../../identity/validate/validate.ts";
import { checkIdentities } from "../../setup/doctor/settings-checks.ts";
import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const IDENTITIES = {
  work: {
    provider: "github",
    user: "ada",
    email: "ada@acme.test",
    displayName: "Ada",
    organizations: ["acme"],
    "x-juggler": { note: "kept for RemoteJuggler" },
  },
  home: { provider: "gitlab", user: "ada", email: "ada@home.test", signing: { format: "ssh" } },
};

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

function tokensOf({ home, env }: SampleCommandLine): Tokens {
  return openTokens({ data: home.data, configFolder: dirname(home.userFile), env });
}

/** A repository of acme, in which git has no author yet. */
async function setUp(): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create({ identities: IDENTITIES });
  line.git("remote", "add", "origin", "git@github.com:acme/app.git");
  return line;
}

describe("trunkline identity list", () => {
  it("prints one line per identity, or only those of one provider", async () => {
    await using line = await setUp();
    const { out } = await line.run("identity", "list");
    assert.match(out, /^NAME +PROVIDER +HOST +USER +EMAIL +SIGNING\nwork .* none\nhome .* ssh\n$/);
    const { out: some } = await line.run("identity", "list", "--provider", "gitlab");
    assert.ok(!some.includes("work"));
    const none = await line.run("identity", "list", "--provider", "bitbucket");
    assert.equal(none.err, "There are no identities for bitbucket.\n");
  });

  it("does not print fields that are only kept for RemoteJuggler", async () => {
    await using line = await setUp();
    const { out } = await line.run("identity", "list", "--json");
    assert.doesNotMatch(out, /x-juggler/);
  });

  it("says how to add one if there are none", async () => {
    await using line = await SampleCommandLine.create();
    const { code, err } = await line.run("identity", "list");
    assert.equal(code, 0);
    assert.match(err, /`trunkline identity add NAME` adds one/);
  });
});

describe("trunkline identity detect", () => {
  it("prints the matching identity to stdout, and the reason to stderr", async () => {
    await using line = await setUp();
    const { code, out, err } = await line.run("identity", "detect");
    assert.deepEqual([code, out], [0, "work\n"]);
    assert.match(err, /Confidence: /);
  });

  it("exits with 1 if none matches", async () => {
    await using line = await setUp();
    line.git("remote", "set-url", "origin", "git@git.example.org:nobody/app.git");
    const { code, out } = await line.run("identity", "detect");
    assert.deepEqual([code, out], [1, ""]);
  });
});

describe("trunkline identity status", () => {
  it("says which identity is used, which one matches, and how to change it", async () => {
    await using line = await setUp();
    const before = await line.run("identity", "status");
    assert.match(before.out, /Identity +no configured identity\n/);
    assert.match(
      before.out,
      /work, but no identity is used here: run\s+`trunkline\s+identity\s+switch\s+work`/,
    );
    assert.match(before.out, /Signing +none\n/);
    assert.match(before.out, /SSH +default key\n/);
    line.git("config", "user.email", "ada@acme.test");
    const after = await line.run("identity", "status");
    assert.match(after.out, /Identity +work\n/);
    assert.match(after.out, /work, which is used here\./);
  });

  it("names a bare repository too", async () => {
    await using line = await setUp();
    line.git("init", "--quiet", "--bare", "../mirror.git");
    line.git("--git-dir=../mirror.git", "config", "user.email", "ada@acme.test");
    const bare = await line.run("identity", "status", "--repo", "../mirror.git");
    assert.match(bare.out, /Repository +\S*mirror\.git\n/);
    const none = await line.run("identity", "status", "--repo", "/");
    assert.match(none.out, /Repository +not in a repository\n/);
  });

  it("shows token, key and guard, and names the command for each that is missing", async () => {
    const work = { ...IDENTITIES.work, sshKey: "~/id_work" };
    await using line = await SampleCommandLine.create({ identities: { work } });
    line.git("config", "user.email", "ada@acme.test");
    const before = await line.run("identity", "status");
    assert.match(before.out, /Token +No token is stored\./);
    assert.match(before.out, /SSH key +The SSH key does not exist/);
    assert.match(before.out, /Guard +The guard is not installed/);
    const { missing } = await line.json<{ missing: ValidationFinding[] }>("identity", "status");
    assert.deepEqual(
      missing.map(({ what, command }) => [what, command]),
      [
        ["token", "trunkline identity token set 'work'"],
        ["ssh-key", `ssh-keygen -t ed25519 -f '${line.home.path}/id_work' -C 'ada@acme.test'`],
        ["guard", "trunkline identity guard install"],
      ],
    );
    // Each of them mends what it is for; the token itself comes from standard input.
    execFileSync("sh", ["-c", `${missing[1]?.command} -q -N ''`]);
    await line.run(...(missing[2]?.command ?? "").split(" ").slice(1));
    await tokensOf(line).save(resolveIdentity("work", { provider: "github", user: "ada" }), TOKEN);
    const after = await line.run("identity", "status");
    assert.doesNotMatch(after.out, /Missing/);
    assert.match(after.out, /Token +In an encrypted file/);
    assert.match(after.out, /Guard +The guard checks every commit and push/);
    assert.ok(!after.out.includes(TOKEN));
  });
});

describe("a token that expires within two weeks", () => {
  it("is a warning of `status` and `doctor`, and not before", async () => {
    await using line = await SampleCommandLine.create({ identities: { work: IDENTITIES.work } });
    line.git("config", "user.email", "ada@acme.test");
    const identity = resolveIdentity("work", { provider: "github", user: "ada" });
    const said = async (days: number) => {
      const expires = new Date(Date.now() + days * 24 * 60 * 60_000).toISOString();
      await tokensOf(line).save(identity, TOKEN, { expires });
      const { out } = await line.run("identity", "status");
      const { config } = await line.home.load({ env: line.env });
      const place = { cwd: line.home.project, env: line.env, values: {} };
      const found = await checkIdentities(config, place);
      const row = /(Soon|Missing) +token: (.*)$/m.exec(out);
      return [row?.[1], row?.[2]?.includes(expires), found.map(({ state }) => state)];
    };
    assert.deepEqual(await said(15), [undefined, undefined, ["ok"]]);
    assert.deepEqual(await said(13), ["Soon", true, ["warn"]]);
    assert.deepEqual(await said(-1), ["Missing", false, ["fail"]]);
  });
});

describe("trunkline identity env", () => {
  it("prints assignments that a shell evaluates to the right values", async () => {
    const name = `Ada "the first" O'Hara $(date)`;
    await using line = await SampleCommandLine.create({
      identities: { work: { ...IDENTITIES.work, displayName: name } },
    });
    const { out } = await line.run("identity", "env", "work");
    const script = `${out}printf %s "$GIT_AUTHOR_NAME"`;
    assert.equal(execFileSync("sh", ["-c", script], { encoding: "utf8" }), name);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

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
});

describe("trunkline identity env", () => {
  it("prints assignments that a shell evaluates to the right values", async () => {
    const name = `Ada "the first" O'Hara $(date)`;
    await using line = await SampleCommandLine.create({
      identities: { work: { ...IDENTITIES.work, displayName: name } },
    });
    const { out } = await line.run("identity", "env", "work");
    const { execFileSync } = await import("node:child_process");
    const script = `${out}printf %s "$GIT_AUTHOR_NAME"`;
    assert.equal(execFileSync("sh", ["-c", script], { encoding: "utf8" }), name);
  });
});

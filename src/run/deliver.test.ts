import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { covers } from "../../test/support/requirement.ts";
import { NO_CREDENTIALS } from "../../test/samples/sample-credentials.ts";
import { ServerRepository } from "../../test/support/server-repository.ts";
import { CHECKPOINT, type Deliverer, delivererFor, type Delivery } from "./deliver.ts";
import { DENIED_NAMES } from "./change/scan.ts";

/** A deliverer that works on the branch `agent/x` of a clone. */
async function begin(repository: ServerRepository, more = {}): Promise<Deliverer> {
  repository.run("switch", "--quiet", "--create", "agent/x");
  const deliverer = delivererFor({
    git: repository.git,
    tree: repository.tree,
    url: repository.url,
    branch: "agent/x",
    session: "s1",
    author: { name: "Ada", email: "ada@example.com" },
    credentials: NO_CREDENTIALS,
    limits: { maxFile: 1 << 20, maxTotal: 1 << 20, maxFiles: 100, denied: DENIED_NAMES },
    ...more,
  });
  await deliverer.begin(repository.revision);
  return deliverer;
}

function expectKind<K extends Delivery["kind"]>(
  delivery: Delivery,
  kind: K,
): Extract<Delivery, { kind: K }> {
  assert.equal(delivery.kind, kind, JSON.stringify(delivery));
  return delivery as Extract<Delivery, { kind: K }>;
}

describe("Deliverer", () => {
  it("commits and pushes the changes, and lists the changed lines", async () => {
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    repository.write("README.md", "hello\nworld\n");
    repository.write("binary", Buffer.from([0, 1, 2]));
    const { target, changes } = expectKind(await deliverer.deliver("Title", "Body"), "pushed");
    assert.equal(repository.onRemote("rev-parse", "agent/x"), target.revision);
    assert.deepEqual(changes, [
      { path: "README.md", added: 1, removed: 0 },
      { path: "binary", added: 0, removed: 0 },
    ]);
    const message = repository.onRemote("log", "-1", "--format=%an%n%B", "agent/x");
    assert.equal(message, "Ada\nTitle\n\nBody\n\nTrunkline-Session: s1");
  });

  it("names the session once, also where a rule wants the same line", async () => {
    using repository = new ServerRepository();
    const trailers = ["Trunkline-Session: {session}", "Assisted-by: codex"];
    const deliverer = await begin(repository, { trailers });
    repository.write("README.md", "hello\nworld\n");
    expectKind(await deliverer.deliver("Title", ""), "pushed");
    const message = repository.onRemote("log", "-1", "--format=%B", "agent/x");
    assert.equal(message, "Title\n\nTrunkline-Session: s1\nAssisted-by: codex");
  });

  it("recognises a push that a killed process did not record, and no push of others", async () => {
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    const unnoted = async (): Promise<void> => {
      await repository.git.run(["update-ref", "-d", "refs/trunkline/pushed"]);
    };
    repository.write("one", "1");
    const first = expectKind(await deliverer.deliver("One", ""), "pushed");
    await unnoted();
    assert.deepEqual(expectKind(await deliverer.pushKept(), "pushed").target, first.target);
    await unnoted();
    repository.write("two", "2");
    const second = expectKind(await deliverer.deliver("Two", ""), "pushed");
    assert.equal(repository.onRemote("rev-parse", "agent/x"), second.target.revision);
    assert.equal(repository.onRemote("rev-list", "--count", "agent/x"), "3");

    const tree = repository.onRemote("rev-parse", "agent/x^{tree}");
    const who = ["-c", "user.name=Mallory", "-c", "user.email=mallory@example.com"];
    const theirs = repository.onRemote(
      ...who,
      "commit-tree",
      tree,
      "-p",
      "agent/x",
      "-m",
      "Theirs",
    );
    repository.onRemote("update-ref", "refs/heads/agent/x", theirs);
    repository.write("three", "3");
    expectKind(await deliverer.deliver("Three", ""), "unpushed");
    assert.equal(repository.onRemote("rev-parse", "agent/x"), theirs);
  });

  it("masks a token of the prompt in the commit message", async () => {
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    repository.write("new", "1");
    const token = `ghp_${"a".repeat(36)}`;
    expectKind(await deliverer.deliver(`Use ${token}`, `And ${token}`), "pushed");
    const message = repository.onRemote("log", "-1", "--format=%B", "agent/x");
    assert.match(message, /^Use •••\n\nAnd •••\n/);
  });

  it("makes no commit if nothing was changed", async () => {
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    expectKind(await deliverer.deliver("Title", ""), "unchanged");
    assert.equal(await deliverer.head(), repository.revision);
  });

  it("runs no hook of the repository", async () => {
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    for (const hook of ["pre-commit", "commit-msg", "pre-push", "reference-transaction"]) {
      const file = join(repository.tree, ".git/hooks", hook);
      writeFileSync(file, `#!/bin/sh\ntouch '${repository.folder}/ran'\nexit 1\n`);
      chmodSync(file, 0o755);
    }
    repository.write("new", "1");
    expectKind(await deliverer.deliver("Title", ""), "pushed");
    assert.doesNotMatch(repository.onRemote("ls-tree", "--name-only", "agent/x"), /ran/);
    assert.throws(() => chmodSync(join(repository.folder, "ran"), 0o644), { code: "ENOENT" });
  });

  it("commits nothing that the scan refuses", async () => {
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    repository.write("key.pem", "secret");
    const { problems } = expectKind(await deliverer.deliver("Title", ""), "refused");
    assert.deepEqual(
      problems.map(({ path }) => path),
      ["key.pem"],
    );
    assert.equal(await deliverer.head(), repository.revision);
  });

  it("does not overwrite what somebody else has pushed, and keeps its commit", async () => {
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    repository.write("new", "1");
    expectKind(await deliverer.deliver("One", ""), "pushed");
    repository.onRemote("update-ref", "refs/heads/agent/x", repository.revision);
    repository.write("new", "2");
    const { revision, why } = expectKind(await deliverer.deliver("Two", ""), "unpushed");
    assert.match(why.message, /git push/);
    assert.equal(await deliverer.head(), revision);
    assert.equal(repository.onRemote("rev-parse", "agent/x"), repository.revision);
  });

  it("does not push to a branch that somebody else has created", async () => {
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    repository.onRemote("update-ref", "refs/heads/agent/x", repository.revision);
    repository.write("new", "1");
    expectKind(await deliverer.deliver("One", ""), "unpushed");
    assert.equal(repository.onRemote("rev-parse", "agent/x"), repository.revision);
  });

  it("reports a push only after the remote has confirmed it", async () => {
    covers("run.target.pushed");
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    const hook = join(repository.remote, "hooks/post-receive");
    writeFileSync(hook, "#!/bin/sh\ngit update-ref -d refs/heads/agent/x\n", { mode: 0o755 });
    repository.write("new", "1");
    const { why } = expectKind(await deliverer.deliver("One", ""), "unpushed");
    assert.match(why.message, /branch 'agent\/x' is not there after it was pushed/);
  });

  it("pushes a commit later that could not be pushed, once", async () => {
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    const hook = join(repository.remote, "hooks/pre-receive");
    writeFileSync(hook, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    repository.write("new", "1");
    expectKind(await deliverer.deliver("One", ""), "unpushed");
    writeFileSync(hook, "#!/bin/sh\n", { mode: 0o755 });
    expectKind(await deliverer.pushKept(), "pushed");
    expectKind(await deliverer.pushKept(), "unchanged");
  });

  it("stores a checkpoint beside the branch, with uncommitted changes", async () => {
    using repository = new ServerRepository();
    const deliverer = await begin(repository);
    repository.write("draft", "half");
    await deliverer.checkpoint();
    assert.equal(repository.run("show", `${CHECKPOINT}:draft`), "half");
    assert.equal(await deliverer.head(), repository.revision);
    expectKind(await deliverer.deliver("Title", ""), "pushed");
    assert.equal(repository.onRemote("for-each-ref", "refs/trunkline"), "");
  });
});

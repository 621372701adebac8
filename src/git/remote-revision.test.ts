import assert from "node:assert/strict";
import { mkdtempDisposable, rm, writeFile } from "node:fs/promises";
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { runFromShell } from "../../test/support/run-from-shell.ts";
import { Git } from "./git.ts";
import { hasUncommitted, resolveRemoteRevision } from "./remote-revision.ts";

/** A repository with a branch and a tag, and a clone of it. */
async function rig() {
  const folder = await mkdtempDisposable(join(tmpdir(), "remote-revision-"));
  const [remote, clone] = [join(folder.path, "remote.git"), join(folder.path, "clone")];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args: string[]): string => {
    const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    return runFromShell("git", [...who, ...args], { cwd: folder.path, env }).trim();
  };
  git("init", "--quiet", "--bare", "--initial-branch=main", remote);
  git("clone", "--quiet", remote, clone);
  await writeFile(join(clone, "a"), "a");
  git("-C", clone, "add", ".");
  git("-C", clone, "commit", "--quiet", "-m", "One");
  git("-C", clone, "push", "--quiet", "origin", "HEAD:main");
  git("-C", clone, "tag", "-a", "v1", "-m", "v1");
  git("-C", clone, "push", "--quiet", "origin", "v1");
  const head = git("-C", clone, "rev-parse", "HEAD");
  const find = (repository: string, wanted?: string) =>
    resolveRemoteRevision(repository, wanted, folder.path, (url, refs) =>
      new Git(folder.path).text(["ls-remote", "--symref", "--", url, ...refs], {
        mode: "write",
        protocols: ["file"],
      }),
    );
  return {
    url: `file://${remote}`,
    remote,
    clone,
    head,
    git,
    find,
    [Symbol.asyncDispose]: () => folder.remove(),
  };
}

describe("resolveRemoteRevision()", () => {
  it("says of a word that is neither a folder nor an address that it is neither", async () => {
    await using it = await rig();
    await assert.rejects(it.find("nowhere"), /There is no folder 'nowhere', and it is not/);
  });

  it("finds the default branch, a branch and the commit of a tag", async () => {
    await using it = await rig();
    const { url, head } = it;
    assert.deepEqual(await it.find(url), { url, branch: "main", revision: head });
    assert.deepEqual(await it.find(url, "main"), { url, branch: "main", revision: head });
    // An annotated tag is an object of its own: what is meant is the commit behind it.
    assert.deepEqual(await it.find(url, "v1"), { url, branch: "", revision: head });
  });

  it("returns a full hash unchanged, without asking the remote", async () => {
    await using it = await rig();
    const revision = "a".repeat(40);
    const list = () => Promise.reject(new Error("asked"));
    const found = await resolveRemoteRevision(it.url, revision, it.clone, list);
    assert.deepEqual(found, { url: it.url, branch: "", revision });
  });

  it("uses what is checked out in a folder, and the remote that it pushes to", async () => {
    await using it = await rig();
    assert.deepEqual(await it.find(it.clone), { url: it.remote, branch: "", revision: it.head });
  });

  it("is a folder itself if it has no remote and is fetched from here", async () => {
    await using it = await rig();
    it.git("-C", it.clone, "remote", "remove", "origin");
    const list = () => Promise.reject(new Error("asked"));
    const here = await resolveRemoteRevision(".", undefined, it.clone, list, { isHere: true });
    const url = pathToFileURL(realpathSync(it.clone)).href;
    assert.deepEqual(here, { url, branch: "", revision: it.head, isLocal: true });
    const empty = join(dirname(it.clone), "empty");
    it.git("init", "-q", empty);
    const none = resolveRemoteRevision(empty, undefined, "/", list, { isHere: true });
    await assert.rejects(none, /has no commit yet/);
  });

  it("says what is missing: the repository, the revision or the remote", async () => {
    await using it = await rig();
    await assert.rejects(it.find(it.url, "nowhere"), /There is no branch or tag 'nowhere'/);
    it.git("-C", it.clone, "remote", "remove", "origin");
    await assert.rejects(it.find(it.clone), /has no remote/);
    await assert.rejects(it.find(dirname(it.clone)), /is not in a git repository/);
  });
});

describe("hasUncommitted()", () => {
  it("tells of new and changed files in a folder, and of none at an address", async () => {
    await using it = await rig();
    const { clone, url } = it;
    assert.equal(await hasUncommitted(clone, "/"), false);
    assert.equal(await hasUncommitted(url, clone), false);
    await writeFile(join(clone, "b"), "b");
    assert.equal(await hasUncommitted(".", clone), true);
    await rm(join(clone, "b"));
    assert.equal(await hasUncommitted(".", clone), false);
    await writeFile(join(clone, "a"), "changed");
    assert.equal(await hasUncommitted(".", clone), true);
    assert.equal(await hasUncommitted(".git", clone), false, "there is no work tree");
  });
});

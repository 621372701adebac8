import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, it, mock } from "node:test";

import { NO_CREDENTIALS } from "../../test/samples/sample-credentials.ts";
import { ServerRepository } from "../../test/support/server-repository.ts";
import { type CachedRepository, RepositoryCache } from "./repository-cache.ts";

function cacheOf(
  repository: ServerRepository,
  report: (event: string) => void = () => {},
): RepositoryCache {
  return new RepositoryCache({
    folder: join(repository.folder, "cache"),
    askpass: "/bin/false",
    protocols: ["file"],
    report,
  });
}

const countOf = ({ git }: CachedRepository, revision: string): Promise<string> =>
  git.text(["rev-list", "--count", revision]);

describe("RepositoryCache", () => {
  it("shares a repository between sessions, but not between scopes of credentials", () => {
    using repository = new ServerRepository();
    const cache = cacheOf(repository);
    const one = cache.at(repository.url, NO_CREDENTIALS);
    assert.equal(cache.at(repository.url, { scope: "" }), one);
    assert.notEqual(cache.at(repository.url, { scope: "ada" }).key, one.key);
    assert.notEqual(cache.at(`${repository.url}/`, NO_CREDENTIALS).key, one.key);
  });

  it("fetches a commit without its history, and the history on request", async () => {
    using repository = new ServerRepository();
    const second = repository.commit("Second");
    repository.run("push", "--quiet", "origin", "HEAD:main");
    const cached = cacheOf(repository).at(repository.url, NO_CREDENTIALS);
    assert.equal(await cached.has(second), false);
    const ref = { url: repository.url, branch: "main", revision: second };
    const ran = mock.method(cached.git, "run");
    await Promise.all([cached.need(ref, NO_CREDENTIALS), cached.need(ref, NO_CREDENTIALS)]);
    const fetches = ran.mock.calls.filter(({ arguments: [args] }) => args.includes("fetch"));
    assert.equal(fetches.length, 1, "both wait for the same fetch");
    assert.equal(await cached.has(second), true);
    assert.equal(await countOf(cached, second), "1");
    assert.equal(await cached.shallow(), `${second}\n`);
    await cached.fill(NO_CREDENTIALS);
    assert.equal(await countOf(cached, second), "2");
    assert.equal(await cached.shallow(), "");
  });

  it("names the revision that is not on the branch", async () => {
    using repository = new ServerRepository();
    const cached = cacheOf(repository).at(repository.url, NO_CREDENTIALS);
    const ref = { url: repository.url, branch: "main", revision: "0".repeat(39) + "1" };
    await assert.rejects(cached.need(ref, NO_CREDENTIALS), {
      code: "not-found",
      message: /revision 0+1 is not on branch 'main' there\. Push it first/,
    });
    await assert.rejects(cached.need({ ...ref, branch: "" }, NO_CREDENTIALS), {
      code: "not-found",
      message: /revision 0+1 is not there\. Push it first/,
    });
    // The failure is not cached: another commit can still be fetched.
    await cached.need({ ...ref, revision: repository.revision }, NO_CREDENTIALS);
  });

  it("refuses a commit that would write into .git", async () => {
    using repository = new ServerRepository();
    const blob = repository.run("rev-parse", "HEAD:README.md");
    const make = (entry: string): string =>
      execFileSync("git", ["mktree"], {
        cwd: repository.tree,
        input: entry,
        encoding: "utf8",
      }).trim();
    const inner = make(`100644 blob ${blob}\tconfig\n`);
    const tree = make(`040000 tree ${inner}\t.GIT\n`);
    const revision = repository.run("commit-tree", "-m", "Evil", tree);
    repository.run("push", "--quiet", "origin", `${revision}:refs/heads/evil`);
    const cached = cacheOf(repository).at(repository.url, NO_CREDENTIALS);
    const need = cached.need({ url: repository.url, branch: "evil", revision }, NO_CREDENTIALS);
    await assert.rejects(need, /hasDotgit/);
    assert.equal(await cached.has(revision), false);
  });

  it("reports a history that could not be fetched, and retries on the next request", async () => {
    using repository = new ServerRepository();
    const events: string[] = [];
    const cached = cacheOf(repository, (event) => events.push(event)).at(
      `${repository.url}-away`,
      NO_CREDENTIALS,
    );
    await cached.fill(NO_CREDENTIALS);
    await cached.fill(NO_CREDENTIALS);
    assert.deepEqual(events, ["run.cache-not-filled", "run.cache-not-filled"]);
  });

  it("protects the commit of a session from garbage collection until it is released", async () => {
    using repository = new ServerRepository();
    const cached = cacheOf(repository).at(repository.url, NO_CREDENTIALS);
    const { revision } = repository;
    await cached.need({ url: repository.url, branch: "main", revision }, NO_CREDENTIALS);
    await cached.keep("s1", revision);
    const refs = () => cached.git.text(["for-each-ref", "refs/trunkline/live"]);
    assert.match(await refs(), /refs\/trunkline\/live\/s1$/);
    await cached.release("s1");
    await cached.release("s1");
    assert.equal(await refs(), "");
  });
});

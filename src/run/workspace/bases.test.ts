import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { NO_CREDENTIALS } from "../../../test/samples/sample-credentials.ts";
import { ServerRepository } from "../../../test/support/server-repository.ts";
import { type CachedRepository, RepositoryCache } from "../repository-cache.ts";
import { WorkspaceBases } from "./bases.ts";

/** Bases of a repository that has the revisions `1`, `2` and `3` of README.md. */
class Rig implements Disposable {
  readonly #sample = new ServerRepository();
  readonly folder = join(this.#sample.folder, "bases");
  readonly bases = new WorkspaceBases({ folder: this.folder, most: 1 });
  readonly revisions = ["1", "2", "3"].map((text) => {
    this.#sample.write("README.md", text);
    return this.#sample.commit(text);
  }) as [string, string, string];
  readonly cached: CachedRepository;

  private constructor() {
    this.#sample.run("push", "--quiet", "origin", "HEAD:main");
    const options = { askpass: "/bin/false", protocols: ["file"], report: (): void => {} };
    const cache = new RepositoryCache({ ...options, folder: join(this.#sample.folder, "cache") });
    this.cached = cache.at(this.#sample.url, NO_CREDENTIALS);
  }

  static async open(): Promise<Rig> {
    const rig = new Rig();
    await rig.cached.fill(NO_CREDENTIALS);
    return rig;
  }

  /** The revisions that are checked out now. */
  kept(): string[] {
    return readdirSync(join(this.folder, this.cached.key)).toSorted();
  }

  [Symbol.dispose](): void {
    this.#sample[Symbol.dispose]();
  }
}

describe("Bases", () => {
  it("checks a revision out once for all concurrent requests", async () => {
    using rig = await Rig.open();
    const [first] = rig.revisions;
    const bases = await Promise.all([1, 2, 3].map(() => rig.bases.exactly(rig.cached, first)));
    for (const { tree, index } of bases) {
      assert.equal(readFileSync(join(tree, "README.md"), "utf8"), "1");
      assert.ok(existsSync(index));
    }
    assert.deepEqual(rig.kept(), [first]);
  });

  it("begins with the most recently used base if there is none of the same revision", async () => {
    using rig = await Rig.open();
    const [first, second, third] = rig.revisions;
    assert.equal((await rig.bases.near(rig.cached, first)).revision, first);
    assert.equal((await rig.bases.near(rig.cached, second)).revision, first);
    await rig.bases.exactly(rig.cached, third);
    assert.equal((await rig.bases.near(rig.cached, first)).revision, first);
    assert.equal((await rig.bases.near(rig.cached, second)).revision, first);
  });

  it("creates a missing base again", async () => {
    using rig = await Rig.open();
    const [first] = rig.revisions;
    const { tree } = await rig.bases.exactly(rig.cached, first);
    rmSync(join(tree, ".."), { recursive: true });
    await rig.bases.exactly(rig.cached, first);
    assert.ok(existsSync(join(tree, "README.md")));
  });

  it("prunes the least recently used ones, and none that is in use", async () => {
    using rig = await Rig.open();
    const [first, second, third] = rig.revisions;
    for (const revision of rig.revisions) await rig.bases.exactly(rig.cached, revision);
    // Using it makes it the most recently used.
    await rig.bases.near(rig.cached, second);
    await rig.bases.prune(rig.cached, new Set([first]));
    assert.deepEqual(rig.kept(), [first, second].toSorted());
    assert.equal((await rig.bases.near(rig.cached, third)).revision, second);
  });

  it("leaves nothing behind if a revision cannot be checked out", async () => {
    using rig = await Rig.open();
    await assert.rejects(rig.bases.exactly(rig.cached, "0".repeat(40)));
    assert.deepEqual(rig.kept(), []);
  });
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { ServerRepository } from "../../test/support/server-repository.ts";
import { copyIndex } from "./copy-index.ts";

/** When the files were checked out and the index was written. */
const THEN = new Date("2026-01-02T03:04:05.600Z");

/** A file that has changed within the second of the index, to a text of the same length. */
class SameSecond implements Disposable {
  readonly #repository = new ServerRepository();
  readonly index = join(this.#repository.tree, ".git/index");
  readonly copy = join(this.#repository.tree, ".git/other-index");

  constructor() {
    const { tree } = this.#repository;
    // A test cannot set the time of the last change of status, which git compares too.
    for (const setting of ["core.trustctime=false", "core.checkStat=minimal"]) {
      this.#repository.run("config", ...setting.split("="));
    }
    const file = join(tree, "README.md");
    utimesSync(file, THEN, THEN);
    this.#repository.run("update-index", "--refresh");
    writeFileSync(file, "HELLO\n");
    utimesSync(file, THEN, THEN);
    utimesSync(this.index, THEN, THEN);
  }

  changedBy(index: string): Promise<string> {
    const env = { GIT_INDEX_FILE: index };
    return this.#repository.git.text(["status", "--short"], { env });
  }

  [Symbol.dispose](): void {
    this.#repository[Symbol.dispose]();
  }
}

describe("copyIndex()", () => {
  it("lets git find a change of the same size within the second of the index", async () => {
    using sample = new SameSecond();
    await copyIndex(sample.index, sample.copy);
    assert.match(await sample.changedBy(sample.copy), /M README\.md/);
  });

  it("waits for no pipe in the place of the index", async () => {
    using sample = new SameSecond();
    execFileSync("mkfifo", [`${sample.index}.pipe`]);
    await assert.rejects(copyIndex(`${sample.index}.pipe`, sample.copy), /not a regular file/);
  });

  it("is needed: git misses that change with a copy that is newer", async () => {
    using sample = new SameSecond();
    copyFileSync(sample.index, sample.copy);
    assert.equal(await sample.changedBy(sample.copy), "");
  });
});

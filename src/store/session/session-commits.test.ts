import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Database } from "../database.ts";
import { SessionCommits } from "./session-commits.ts";
import { PAGES, readPages } from "./session-pages.ts";

class Rig implements AsyncDisposable {
  readonly folder: SampleFolder;
  readonly database: Database;
  readonly commits: SessionCommits;
  readonly disk: DiskFaults;

  private constructor(folder: SampleFolder, database: Database) {
    this.folder = folder;
    this.database = database;
    this.commits = new SessionCommits(database, () => new Error("taken"));
    this.disk = new DiskFaults(folder.path);
  }

  static async open(): Promise<Rig> {
    const folder = await SampleFolder.create();
    const session = "CREATE TABLE session (id INTEGER PRIMARY KEY, epoch INTEGER)";
    const rows = "INSERT INTO session VALUES (1, 7), (2, 7)";
    const migration = `${session}; ${rows}; ${PAGES}`;
    const rig = new Rig(folder, await Database.open(join(folder.path, "s.sqlite"), [migration]));
    rig.commits.begin(1, 0, 7);
    rig.commits.begin(2, 0, 7);
    return rig;
  }

  append(session: number, text: string) {
    return this.commits.append(session, "agent", JSON.stringify(text));
  }

  stored(session: number): Promise<unknown[]> {
    return this.database.read((database) =>
      readPages(database, session, 0, Infinity).map(
        ({ seq, message }) => `${seq} ${String(message)}`,
      ),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disk[Symbol.dispose]();
    await this.commits.flush();
    this.database[Symbol.dispose]();
    await this.folder[Symbol.asyncDispose]();
  }
}

describe("SessionCommits", () => {
  it("writes all waiting events of every session in one commit", async () => {
    await using rig = await Rig.open();
    const first = rig.append(1, "a");
    assert.equal(rig.append(1, "b"), first, "one page for one commit");
    await Promise.all([first.stored, rig.append(2, "c").stored]);
    assert.equal(rig.disk.calls.filter(({ operation }) => operation === "COMMIT").length, 1);
    assert.deepEqual(await rig.stored(1), ["1 a", "2 b"]);
    assert.deepEqual(await rig.stored(2), ["1 c"]);
  });

  it("fails what was appended after a failed commit, and leaves no gap in the numbers", async () => {
    await using rig = await Rig.open();
    await rig.append(1, "kept").stored;
    let later: ReturnType<Rig["append"]> | undefined;
    rig.disk.decide = ({ operation }) => {
      if (operation !== "COMMIT") return undefined;
      // Appended while the commit before it is on its way: it would have a gap before it.
      later ??= rig.append(1, "later");
      return "EIO";
    };
    const lost = rig.append(1, "lost");
    await assert.rejects(lost.stored, /disk I\/O error/);
    assert.notEqual(later, lost);
    await assert.rejects(later?.stored ?? Promise.resolve(), /disk I\/O error/);
    assert.notEqual(lost.failure, undefined);
    rig.disk.decide = () => undefined;
    const next = rig.append(1, "next");
    await next.stored;
    assert.equal(next.last, 2);
    assert.deepEqual(await rig.stored(1), ["1 kept", "2 next"]);
  });

  it("refuses events of a session that is not open, without waiting for the disk", async () => {
    await using rig = await Rig.open();
    rig.commits.end(1);
    const refused = rig.append(1, "late");
    assert.equal((refused.failure as { code?: string }).code, "closed");
    await assert.rejects(refused.stored, { code: "closed" });
    assert.deepEqual(await rig.stored(1), []);
  });

  it("flushes what waits, and what is added meanwhile", async () => {
    await using rig = await Rig.open();
    const first = rig.append(1, "one");
    void first.stored.then(() => rig.append(1, "two"));
    await rig.commits.flush();
    await rig.commits.flush();
    assert.deepEqual(await rig.stored(1), ["1 one", "2 two"]);
  });
});

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  mkdirSync,
  openSync,
  closeSync,
  readdirSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import type { Thread } from "../../store/review/review-thread.ts";
import { Reviews } from "../../store/review/reviews.ts";
import { DropFiles } from "./drop-files.ts";
import { watchFolder } from "../../base/file/watch-folder.ts";
import { sampleLines, SampleRepository } from "../../../test/samples/sample-review-repository.ts";
import { covers } from "../../../test/support/requirement.ts";
import { until } from "../../../test/support/until.ts";

/** Drop files of a repository that are watched. */
class Dropping implements AsyncDisposable {
  readonly sample = new SampleRepository();
  readonly file = join(this.sample.parent, "config/jesseduffield/lazygit/mcp-messages.json");
  readonly inbox = join(this.sample.data, "review-inbox");
  readonly reports: Record<string, unknown>[] = [];
  #reviews: Promise<Reviews> | undefined;
  #drops: DropFiles | undefined;

  begin(patience = 60): void {
    this.#drops = new DropFiles({
      files: [this.file],
      inbox: this.inbox,
      folder: this.sample.root,
      open: () => this.reviews(),
      report: (event, fields) => this.reports.push({ event, ...fields }),
      patience,
    });
    this.#drops.begin();
  }

  reviews(): Promise<Reviews> {
    this.#reviews ??= Reviews.open(this.sample.data);
    return this.#reviews;
  }

  record(comment: string, more: object = {}): string {
    const time = "2025-07-01T10:30:00Z";
    return JSON.stringify({
      file: "a.txt",
      comment,
      project_root: this.sample.root,
      time,
      ...more,
    });
  }

  drop(text: string, file = this.file): void {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Waits for so many threads. */
  async threads(count: number): Promise<Thread[]> {
    for (;;) {
      const threads = await (await this.reviews()).list();
      if (threads.length >= count) return threads;
      await delay(5);
    }
  }

  /** Waits until nothing is left of what was dropped but these. */
  async left(folder: string, count = 0): Promise<string[]> {
    for (;;) {
      const names = readdirSync(folder);
      const isDone = names.every((name) => /\.unreadable-/.test(name));
      if (isDone && names.length === count) return names;
      await delay(5);
    }
  }

  async end(): Promise<void> {
    await this.#drops?.[Symbol.asyncDispose]();
    this.#drops = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    (await this.#reviews)?.[Symbol.dispose]();
    this.sample[Symbol.dispose]();
  }
}

describe("DropFiles", { timeout: 600_000 }, () => {
  it("imports files from before and after its start, also in a folder that did not exist", async () => {
    await using dropping = new Dropping();
    dropping.sample.write("a.txt", sampleLines(3));
    dropping.begin();
    dropping.drop(dropping.record("one"));
    await dropping.threads(1);
    await dropping.left(dirname(dropping.file));
    await dropping.end();
    dropping.drop(dropping.record("two", { line: 2 }));
    dropping.begin();
    const [one, two] = await dropping.threads(2);
    assert.equal(one?.comment, "one");
    assert.equal(one?.at, Date.parse("2025-07-01T10:30:00Z"));
    assert.equal(one?.repository.root, dropping.sample.root);
    assert.deepEqual(two?.anchor.quote, ["line number 2 of this file"]);
    await dropping.left(dirname(dropping.file));
  });

  it("leaves alone what others write beside a drop file", async () => {
    await using dropping = new Dropping();
    const folder = dirname(dropping.file);
    mkdirSync(folder, { recursive: true });
    dropping.begin();
    const seen = Promise.withResolvers<void>();
    const stop = watchFolder(folder, (name) => name === "other.json" && seen.resolve());
    // Nothing that is watched keeps a process waiting.
    const alive = setInterval(() => {}, 1_000);
    dropping.drop(dropping.record("not for us"), join(folder, "other.json"));
    await seen.promise;
    clearInterval(alive);
    stop();
    dropping.sample.write("a.txt", sampleLines(3));
    dropping.drop(dropping.record("for us"));
    assert.equal((await dropping.threads(1))[0]?.comment, "for us");
    assert.ok(readdirSync(folder).includes("other.json"));
  });

  it("waits for a program that is still writing, though the file was renamed", async () => {
    await using dropping = new Dropping();
    mkdirSync(dirname(dropping.file), { recursive: true });
    dropping.begin(2000);
    const record = dropping.record("in two halves");
    const file = openSync(dropping.file, "w");
    writeSync(file, record.slice(0, 20));
    await until(() => readdirSync(dirname(dropping.file)).some((name) => name.includes(".taken-")));
    writeSync(file, record.slice(20));
    closeSync(file);
    assert.equal((await dropping.threads(1))[0]?.comment, "in two halves");
  });

  it("imports lines that are added after it was read", async () => {
    covers("review.file.rapid");
    await using dropping = new Dropping();
    mkdirSync(dirname(dropping.file), { recursive: true });
    dropping.begin(2_000);
    dropping.drop(`${dropping.record("one")}\n${dropping.record("two")}\n`);
    await dropping.threads(2);
    const aside = readdirSync(dirname(dropping.file)).find((name) => name.includes(".taken-"))!;
    appendFileSync(join(dirname(dropping.file), aside), `${dropping.record("three")}\n`);
    const threads = await dropping.threads(3);
    assert.deepEqual(
      threads.map(({ comment }) => comment),
      ["one", "two", "three"],
    );
  });

  it("ignores the same comment dropped twice, and recognises a project by any path to it", async () => {
    covers("review.queue.deduplicate");
    await using dropping = new Dropping();
    const link = join(dropping.sample.parent, "link");
    symlinkSync(dropping.sample.root, link);
    dropping.begin();
    dropping.drop(dropping.record("one"));
    await dropping.threads(1);
    await dropping.left(dirname(dropping.file));
    dropping.drop(dropping.record("one", { project_root: link }));
    await dropping.left(dirname(dropping.file));
    dropping.drop(dropping.record("one", { project_root: link, time: "2025-07-01T10:30:01Z" }));
    const threads = await dropping.threads(2);
    assert.equal(threads.length, 2);
    assert.equal(threads[0]?.repository.gitDir, threads[1]?.repository.gitDir);
  });

  it("keeps comments on missing lines, and of projects without git", async () => {
    await using dropping = new Dropping();
    dropping.begin();
    const project_root = dropping.sample.parent;
    dropping.drop(
      `[${dropping.record("no such line", { line: 99 })},${dropping.record("outside", { file: "/etc/passwd" })},${dropping.record("no git", { project_root })}]`,
    );
    const [line, outside, plain] = await dropping.threads(3);
    assert.equal(line?.anchor.line, 99);
    assert.match(outside?.anchor.path ?? "", /etc\/passwd$/);
    assert.equal(plain?.repository.root, project_root);
  });

  it("keeps comments with an invalid name or time, and shows them with all others", async () => {
    await using dropping = new Dropping();
    const long = { file: "x".repeat(5000), time: 1.7e18 };
    dropping.drop(`[${dropping.record("odd", long)},${dropping.record("NUL", { file: "\0" })}]`);
    dropping.begin();
    await dropping.threads(2);
    using commands = await dropping.sample.commands();
    const shown = await commands.list();
    assert.deepEqual(
      shown.map(({ comment, confidence }) => [comment, confidence]),
      [
        ["odd", "gone"],
        ["NUL", "gone"],
      ],
    );
  });

  it("renames a file that it cannot read, and reports it", async () => {
    await using dropping = new Dropping();
    dropping.begin(30);
    dropping.drop('{"file": "x", "comm');
    mkdirSync(dirname(dropping.file), { recursive: true });
    const [name] = await dropping.left(dirname(dropping.file), 1);
    assert.match(name ?? "", /mcp-messages\.json\.unreadable-/);
    dropping.drop('{"hello": 1}');
    await dropping.left(dirname(dropping.file), 2);
    assert.equal(dropping.reports.length, 2);
  });

  it("takes over files of a dead process, even if another has its process id", async () => {
    await using dropping = new Dropping();
    // As it was named before, by a process of our own number.
    dropping.drop(dropping.record("older"), `${dropping.file}.taken-${process.pid}-1`);
    const gone = `${process.pid}-${crypto.randomUUID()}`;
    dropping.drop(dropping.record("left behind"), `${dropping.file}.taken-${gone}-1`);
    dropping.drop(dropping.record("new"));
    dropping.begin();
    const comments = (await dropping.threads(3)).map(({ comment }) => comment);
    assert.deepEqual(comments.toSorted(), ["left behind", "new", "older"]);
    await dropping.left(dirname(dropping.file));
  });

  it("takes over files of several dead processes in the order in which they were written", async () => {
    await using dropping = new Dropping();
    const written = ["9", "1", "5", "3"].map((id, at) => {
      const file = `${dropping.file}.taken-${id}-${crypto.randomUUID()}-1`;
      dropping.drop(dropping.record(`comment ${at}`), file);
      utimesSync(file, at + 1, at + 1);
      return `comment ${at}`;
    });
    dropping.drop(dropping.record("new"));
    dropping.begin();
    const comments = (await dropping.threads(5)).map(({ comment }) => comment);
    assert.deepEqual(comments, [...written, "new"]);
  });

  it("takes over the inbox of a killed process in the order in which it was written", async () => {
    await using dropping = new Dropping();
    const written = ["m", "z", "a", "k"].map((name, at) => {
      const taken = at < 3 ? `.taken-1-${crypto.randomUUID()}-1` : "";
      const file = join(dropping.inbox, `${name}.json${taken}`);
      dropping.drop(dropping.record(`comment ${at}`), file);
      utimesSync(file, at + 1, at + 1);
      return `comment ${at}`;
    });
    dropping.begin();
    const comments = (await dropping.threads(4)).map(({ comment }) => comment);
    assert.deepEqual(comments, written);
  });

  it("takes the others where one is a link that leads to itself", async () => {
    await using dropping = new Dropping();
    const asideOf = (id: number): string => `${dropping.file}.taken-${id}-${crypto.randomUUID()}-1`;
    dropping.drop(dropping.record("old"), asideOf(1));
    const loop = asideOf(2);
    symlinkSync(loop, loop);
    dropping.drop(dropping.record("new"));
    dropping.begin();
    const comments = (await dropping.threads(2)).map(({ comment }) => comment);
    assert.deepEqual(comments, ["old", "new"]);
    await dropping.left(dirname(dropping.file), 1);
  });

  it("loses none of several files that it cannot read, though it renames them at once", async () => {
    await using dropping = new Dropping();
    mkdirSync(dirname(dropping.file), { recursive: true });
    for (let id = 1; id <= 20; id++) {
      symlinkSync("nowhere", `${dropping.file}.taken-${id}-${crypto.randomUUID()}-1`);
    }
    dropping.begin();
    await dropping.left(dirname(dropping.file), 20);
  });

  it("does not wait for the time of a file that is in the future", async () => {
    await using dropping = new Dropping();
    const file = `${dropping.file}.taken-1-${crypto.randomUUID()}-1`;
    dropping.drop(dropping.record("from tomorrow"), file);
    const tomorrow = Date.now() / 1000 + 86_400;
    utimesSync(file, tomorrow, tomorrow);
    dropping.begin();
    await dropping.threads(1);
    await dropping.left(dirname(dropping.file));
  });

  it("leaves files of another process alone, until that is killed", async () => {
    await using dropping = new Dropping();
    const folder = dirname(dropping.file);
    mkdirSync(folder, { recursive: true });
    const script = `
      const { Holder } = await import(${JSON.stringify(import.meta.resolve("../../store/holder.ts"))});
      globalThis.holder = Holder.at(${JSON.stringify(join(folder, ".trunkline"))});
      console.log(holder.id);
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [id] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
    dropping.drop(dropping.record("theirs"), `${dropping.file}.taken-${id.trim()}-1`);
    dropping.drop(dropping.record("ours"));
    dropping.begin(200);
    assert.equal((await dropping.threads(1))[0]?.comment, "ours");
    await delay(500);
    assert.equal((await dropping.threads(1)).length, 1);
    child.kill("SIGKILL");
    assert.equal((await dropping.threads(2))[1]?.comment, "theirs");
    await dropping.left(folder);
  });

  it("waits for no pipe, follows no link and does not treat a folder as a file", async () => {
    await using dropping = new Dropping();
    mkdirSync(join(dropping.inbox, "folder.json"), { recursive: true });
    execFileSync("mkfifo", [join(dropping.inbox, "pipe.json")]);
    const secret = join(dropping.sample.parent, "elsewhere.json");
    writeFileSync(secret, dropping.record("from elsewhere"));
    symlinkSync(secret, join(dropping.inbox, "link.json"));
    dropping.begin(30);
    dropping.drop(dropping.record("one"), join(dropping.inbox, "real.json"));
    assert.equal((await dropping.threads(1))[0]?.comment, "one");
    const names = await dropping.left(dropping.inbox, 3);
    assert.deepEqual(names.map((name) => name.replace(/\..*/, "")).toSorted(), [
      "folder",
      "link",
      "pipe",
    ]);
    assert.match(
      JSON.stringify(dropping.reports),
      /it is not a regular file; the file was renamed/,
    );
    assert.equal((await dropping.threads(1)).length, 1);
  });

  it("keeps a file until its comments are stored, and then removes it", async () => {
    covers("review.file.kept");
    await using dropping = new Dropping();
    await dropping.reviews();
    using disk = new DiskFaults(dropping.sample.data);
    disk.decide = ({ operation }) => (operation === "COMMIT" ? "ENOSPC" : undefined);
    dropping.begin();
    dropping.drop(dropping.record("one"), join(dropping.inbox, "1.json"));
    dropping.drop(dropping.record("two"), join(dropping.inbox, "2.json"));
    await until(() => dropping.reports.length > 0);
    disk.decide = () => undefined;
    const threads = await dropping.threads(2);
    assert.deepEqual(
      threads.map(({ comment }) => comment),
      ["one", "two"],
    );
    await dropping.left(dropping.inbox);
  });

  it("imports each file of its inbox, in order, once it has its final name", async () => {
    await using dropping = new Dropping();
    dropping.begin();
    for (let n = 10; n < 40; n++) {
      dropping.drop(dropping.record(`${n}`), join(dropping.inbox, `${n}.json.part`));
    }
    for (let n = 10; n < 40; n++) {
      renameSync(join(dropping.inbox, `${n}.json.part`), join(dropping.inbox, `${n}.json`));
    }
    const threads = await dropping.threads(30);
    assert.deepEqual(
      threads.map(({ comment }) => Number(comment)),
      Array.from({ length: 30 }, (_, n) => n + 10),
    );
    await dropping.left(dropping.inbox);
  });
});

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { readKilledOnAnswers, readWhileKilled, ReviewHome } from "../e2e/review-server.ts";

const WRITERS = ["a", "b", "c", "d", "e"];
const COUNT = 200;

function checkOrder(got: readonly string[]): void {
  assert.equal(got.length, WRITERS.length * COUNT);
  for (const file of WRITERS) {
    const own = got.filter((line) => line.startsWith(`${file} `));
    assert.deepEqual(
      own,
      Array.from({ length: COUNT }, (_, n) => `${file} ${n}`),
    );
  }
}

function homeWithFiles(): ReviewHome {
  const home = new ReviewHome();
  for (const file of WRITERS) home.write(file, "one\ntwo\nthree\nfour\nfive\n");
  return home;
}

describe("a thousand comments, through a server that is killed at random", () => {
  it("arrive once and in order if five command lines write at once", async (test) => {
    using home = homeWithFiles();
    const writing = Promise.all(
      WRITERS.map(async (file) => {
        for (let n = 0; n < COUNT; n++) await home.add(`${n}`, file);
      }),
    );
    const { got, kills } = await readWhileKilled(home, writing, 1500);
    await writing;
    test.diagnostic(`the server was killed ${kills} times`);
    assert.ok(kills > 0);
    checkOrder(got);
  });

  it("arrive once and in order if five programs write to the inbox", async (test) => {
    using home = homeWithFiles();
    const inbox = join(home.data, "review-inbox");
    mkdirSync(inbox, { recursive: true });
    const writing = Promise.all(
      WRITERS.map(async (file) => {
        for (let n = 0; n < COUNT; n++) {
          const record = { file, comment: `${n}`, project_root: home.repository, time: n };
          const name = join(inbox, `${file}-${String(n).padStart(4, "0")}.json`);
          writeFileSync(`${name}.part`, JSON.stringify(record));
          renameSync(`${name}.part`, name);
          await delay(Math.random() * 20);
        }
      }),
    );
    const { got, kills } = await readWhileKilled(home, writing, 1500, () => isEmpty(inbox));
    test.diagnostic(`the server was killed ${kills} times`);
    checkOrder(got);
  });

  it("all arrive if five programs write to the single drop file, each when it is free", async (test) => {
    using home = homeWithFiles();
    const folder = join(home.path, ".config/jesseduffield/lazygit");
    mkdirSync(folder, { recursive: true });
    const file = join(folder, "mcp-messages.json");
    const writing = Promise.all(
      WRITERS.map(async (name) => {
        for (let n = 0; n < COUNT; n++) {
          const record = { file: name, comment: `${n}`, project_root: home.repository, time: n };
          while (!wrote(file, JSON.stringify(record))) await delay(1 + Math.random() * 5);
        }
      }),
    );
    const { got, kills } = await readWhileKilled(home, writing, 1500, () => isEmpty(folder));
    test.diagnostic(`the server was killed ${kills} times`);
    checkOrder(got);
  });
});

const ROUNDS = 60;

describe("a server that is killed on each of its answers", () => {
  for (const acknowledges of [false, true]) {
    const most = acknowledges ? "once" : "at most once more";
    const who = acknowledges ? "acknowledges" : "does not acknowledge";
    it(`delivers each comment ${most} to a reader that ${who} answers`, async (test) => {
      using home = new ReviewHome();
      const times = await readKilledOnAnswers(home, ROUNDS, "reader", acknowledges);
      const again = [...times.values()].filter((count) => count > 1).length;
      test.diagnostic(`${again} of ${times.size} comments came again`);
      assert.equal(times.size, ROUNDS, "none is lost");
      assert.ok(Math.max(...times.values()) <= (acknowledges ? 1 : 2));
    });
  }
});

/** Whether the file was not there, and has this text now. */
function wrote(file: string, text: string): boolean {
  if (existsSync(file)) return false;
  try {
    writeFileSync(file, text, { flag: "wx" });
    return true;
  } catch {
    return false;
  }
}

function isEmpty(folder: string): boolean {
  return readdirSync(folder).length === 0;
}

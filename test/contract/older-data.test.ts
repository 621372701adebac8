import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";

import { subjectOf, subjectWords } from "../../src/session/permission/permission.ts";
import {
  NOTIFICATIONS_FILE,
  NOTIFY_MIGRATIONS,
  openNotifyStore,
} from "../../src/store/notify/notify-store.ts";
import { REVIEW_MIGRATIONS } from "../../src/store/review/reviews-schema.ts";
import { Reviews } from "../../src/store/review/reviews.ts";
import { SESSION_MIGRATIONS, SessionLog } from "../../src/store/session/session-log.ts";
import { SessionRules } from "../../src/store/session/session-rules.ts";
import { REVIEWS_FILE } from "../../src/store/store-files.ts";
import { TASK_MIGRATIONS, TaskRecords } from "../../src/store/task-records.ts";
import { SampleFolder } from "../samples/sample-folder.ts";

/** SQL texts of databases as earlier versions have left them, named `NAME-VERSION.sql`. */
const SAMPLES = join(import.meta.dirname, "../samples/older-data");

interface Store {
  readonly file: string;
  readonly migrations: readonly string[];
  /** Opens it, and reads what the sample has. */
  readonly read: (data: string) => Promise<void>;
}

const SESSION = "11111111-1111-4111-8111-111111111111";

const STORES: Readonly<Record<string, Store>> = {
  sessions: {
    file: "sessions.sqlite",
    migrations: SESSION_MIGRATIONS,
    read: async (data) => {
      await using log = await SessionLog.open(data);
      const session = await log.find(SESSION);
      assert.deepEqual([session?.title, session?.notes.owner], ["Mend it", "token ann"]);
      const [event, ...said] = (await Array.fromAsync(log.read(SESSION))).flat();
      assert.match(JSON.stringify(event?.message), /"by":"zed"/);
      // Since version 7 events may have only a text.
      const texts = JSON.stringify(said).match(/(?<="text":")[^"]*/g) ?? [];
      assert.ok(["", "It is mended"].includes(texts.join("")), texts.join(""));
      const rules = new SessionRules(log.database);
      // Rules of the first versions are joined texts, which are not in force any more.
      const [rule] = await rules.list("/home/ada/site");
      if (rule === undefined) return;
      assert.deepEqual([rule.decision, rule.principal], ["allow", "token ann"]);
      assert.equal(subjectWords(subjectOf(rule.subject)), "run npm test");
    },
  },
  reviews: {
    file: REVIEWS_FILE,
    migrations: REVIEW_MIGRATIONS,
    read: async (data) => {
      using reviews = await Reviews.open(data);
      const [opened] = await reviews.history("remh51");
      assert.equal(opened?.text, "Say why");
    },
  },
  notifications: {
    file: NOTIFICATIONS_FILE,
    migrations: NOTIFY_MIGRATIONS,
    read: async (data) => {
      using store = await openNotifyStore(data);
      const [delivery] = await store.queue.ofNotice("n1");
      assert.deepEqual([delivery?.receiver, delivery?.state], ["hook", "pending"]);
      const [device] = await store.devices.list();
      assert.equal(device?.name, "Phone");
    },
  },
  tasks: {
    file: "tasks.sqlite",
    migrations: TASK_MIGRATIONS,
    read: async (data) => {
      using tasks = await TaskRecords.open(data);
      assert.equal((await tasks.find("k1"))?.id, "k1");
    },
  },
};

/** What a database consists of; the layout of its text does not matter. */
function schemaOf(path: string): { readonly version: unknown; readonly parts: unknown[] } {
  using database = new DatabaseSync(path);
  const parts = database
    .prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
    .all()
    .map(({ type, name, sql }) => [type, name, String(sql).replaceAll(/\s+/g, " ")].join(" "));
  return { version: database.prepare("PRAGMA user_version").get()?.user_version, parts };
}

describe("a data folder of an earlier version", () => {
  for (const [name, { file, migrations, read }] of Object.entries(STORES)) {
    for (let version = 1; version <= migrations.length; version++) {
      it(`is migrated with all that it has: ${name}, version ${version}`, async () => {
        const sample = join(SAMPLES, `${name}-${version}.sql`);
        const next = "write one with `sqlite3 FILE .dump`, and `PRAGMA user_version` at its end";
        assert.ok(existsSync(sample), `There is no sample of this version: ${next}`);
        await using folder = await SampleFolder.create();
        mkdirSync(folder.path, { recursive: true });
        const path = join(folder.path, file);
        {
          using old = new DatabaseSync(path);
          old.exec(readFileSync(sample, "utf8"));
        }
        await read(folder.path);
        await using other = await SampleFolder.create();
        mkdirSync(other.path, { recursive: true });
        const fresh = join(other.path, file);
        {
          using database = new DatabaseSync(fresh);
          for (const migration of migrations) database.exec(migration);
          database.exec(`PRAGMA user_version = ${migrations.length}`);
        }
        assert.deepEqual(schemaOf(path), schemaOf(fresh), "a published migration has changed");
      });
    }

    it(`is refused in words, and not changed, if it is of a later version: ${name}`, async () => {
      await using folder = await SampleFolder.create();
      mkdirSync(folder.path, { recursive: true });
      const path = join(folder.path, file);
      {
        using later = new DatabaseSync(path);
        later.exec("CREATE TABLE later (x); PRAGMA user_version = 99");
      }
      const before = schemaOf(path);
      const says = new RegExp(`${file}': it was made by a newer Trunkline. Use that one`);
      await assert.rejects(read(folder.path), { code: "config", message: says });
      assert.deepEqual(schemaOf(path), before);
    });
  }
});

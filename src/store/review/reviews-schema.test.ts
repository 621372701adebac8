import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Database } from "../database.ts";
import { REVIEWS_FILE } from "../store-files.ts";
import { Reviews } from "./reviews.ts";
import { REVIEW_MIGRATIONS } from "./reviews-schema.ts";

test("threads of an earlier version are listed and delivered as before", async () => {
  await using folder = await SampleFolder.create();
  {
    const path = join(folder.path, REVIEWS_FILE);
    using database = await Database.open(path, REVIEW_MIGRATIONS.slice(0, 2));
    const anchor = { path: "a", side: "new", line: 2, end: 3, blob: "b1", commit: "c1" };
    await database.change((sqlite) => {
      sqlite.exec("INSERT INTO repository (git_dir, root) VALUES ('/r/.git', '/r')");
      sqlite.exec(
        `INSERT INTO event (thread, kind, at, author, role, body, recorded, message_in)
         VALUES ('rabc', 'opened', 1, 'ada', 'person', '{"text":"so"}', 1, 1)`,
      );
      sqlite
        .prepare(
          `INSERT INTO thread (id, repository, opened, path, anchor, severity, comment, state, author,
             source, at, updated) VALUES ('rabc', 1, 1, 'a', ?, 'nit', 'so', 'open', 'ada', 't', 1, 1)`,
        )
        .run(JSON.stringify(anchor));
      sqlite.exec(
        "INSERT INTO delivery (reader, message, holder, at, sent) VALUES ('old', 1, 'x', 1, 1)",
      );
    });
  }
  using reviews = await Reviews.open(folder.path);
  const [thread] = await reviews.list({ gitDir: "/r/.git" });
  assert.partialDeepStrictEqual(thread, {
    id: "rabc",
    anchor: { path: "a", side: "new", line: 2, end: 3, blob: "b1", commit: "c1" },
  });
  const request = { limit: 10, first: "oldest" } as const;
  assert.equal((await reviews.take({ ...request, reader: "old" })).messages.length, 0);
  assert.equal((await reviews.take({ ...request, reader: "new" })).messages.length, 1);
});

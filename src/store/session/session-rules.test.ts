import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Database } from "../database.ts";
import { SessionLog } from "./session-log.ts";
import { RULES, RULES_OF_PRINCIPALS, RULES_OF_SUBJECTS, SessionRules } from "./session-rules.ts";

describe("SessionRules", () => {
  it("returns the latest decision of each principal for each subject in each workspace, until it is revoked", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const rules = new SessionRules(log.database);
    const rule = { workspace: "/a", subject: "run ls", session: "s1" } as const;
    const me = { by: "me", principal: "" };
    await rules.add({ ...rule, ...me, decision: "allow" });
    await rules.add({ ...rule, ...me, decision: "reject" });
    await rules.add({ ...rule, ...me, workspace: "/b", decision: "allow" });
    await rules.add({ ...rule, by: "ann", principal: "token ann", decision: "allow" });
    assert.equal((await rules.find("/a", "run ls", ""))?.decision, "reject");
    assert.equal((await rules.find("/a", "run ls", "token ann"))?.decision, "allow");
    assert.equal(await rules.find("/b", "run ls", "token ann"), undefined);
    assert.equal(await rules.find("/a", "run rm", ""), undefined);
    const mine = (await rules.list("/a")).find(({ principal }) => principal === "");
    assert.deepEqual([mine?.by, (await rules.list()).length], ["me", 3]);
    assert.equal(await rules.revoke(mine?.id ?? 0), true);
    assert.equal(await rules.revoke(mine?.id ?? 0), false);
    assert.equal(await rules.find("/a", "run ls", ""), undefined);
    assert.notEqual(await rules.find("/a", "run ls", "token ann"), undefined);
  });

  it("gives a rule from before principals to the owner of its session", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "sessions.sqlite");
    const before = `CREATE TABLE session (uuid TEXT, notes TEXT NOT NULL) STRICT; ${RULES}`;
    {
      using database = await Database.open(path, [before]);
      await database.change((sqlite) => {
        sqlite.exec(
          `INSERT INTO session VALUES ('s1', '{"owner":"token ann"}'), ('s2', '{}');
           INSERT INTO permission_rule (workspace, subject, decision, created, session, said_by)
           VALUES ('/a', 'run ls', 'allow', 1, 's1', 'ann'), ('/a', 'run rm', 'reject', 1, 's2', 'me'),
             ('/a', 'run cp', 'allow', 1, 'deleted', 'me')`,
        );
      });
    }
    using database = await Database.open(path, [before, RULES_OF_PRINCIPALS]);
    const rules = new SessionRules(database);
    const owners = (await rules.list()).map(({ subject, principal }) => [subject, principal]);
    assert.deepEqual(owners, [
      ["run cp", ""],
      ["run ls", "token ann"],
      ["run rm", ""],
    ]);
    using newer = await Database.open(path, [before, RULES_OF_PRINCIPALS, RULES_OF_SUBJECTS]);
    assert.deepEqual(await new SessionRules(newer).list(), [], "joined texts are not in force");
  });
});

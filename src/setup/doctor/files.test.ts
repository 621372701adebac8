import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";

import { SampleAllowance } from "../../../test/samples/sample-allowance.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { HoldingProcess } from "../../../test/support/holding-process.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { ApprovalsFile } from "../../store/approval/approvals-file.ts";
import { AuditLog } from "../../store/audit/audit-log.ts";
import { Reviews } from "../../store/review/reviews.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { TaskRecords } from "../../store/task-records.ts";
import { TrustStore } from "../../config/trust/trust.ts";
import { Journal } from "../../identity/switch/journal.ts";
import type { CheckResult } from "./check.ts";
import { checkFiles } from "./state-checks.ts";

async function check(data: string): Promise<readonly CheckResult[]> {
  await using allowance = new SampleAllowance();
  return await checkFiles(data, allowance);
}

/** A data folder in which every store has written its file. */
async function filledFolder(data: string): Promise<void> {
  await using sessions = await SessionLog.open(data);
  const created = await sessions.create({ id: SESSION, cwd: "/", agent: "x", notes: {} });
  await sessions.release(created.key);
  using _tasks = await TaskRecords.open(data);
  using _reviews = await Reviews.open(data);
  await new ApprovalsFile(data).update(() => {});
  await new AccessTokens(data).create("ci", { scopes: ["tools"] }, undefined);
  await new TrustStore(data).trust(join(data, "project.jsonc"), "{}");
  using audit = new AuditLog(data);
  audit.record({ tool: "x" });
  const journal = new Journal(data);
  mkdirSync(journal.folder, { recursive: true });
  await journal.end("1", "done");
  // Not by its store, which takes a while to derive a key.
  const tokens = JSON.stringify({ version: 1, key: "generated", salt: "", check: {}, secrets: [] });
  writeFileSync(join(data, "identity/tokens.enc"), tokens, { mode: 0o600 });
}

const SESSION = "s1";

const FILES = [
  ...["sessions.sqlite", "tasks.sqlite", "reviews.db", "approvals.json"],
  ...["access-tokens.json", "trust.json", "audit/audit.ndjson", "identity/journal.jsonl"],
  "identity/tokens.enc",
];

describe("checkFiles()", () => {
  it("passes for what the stores have written, and changes nothing", async () => {
    await using folder = await SampleFolder.create();
    await filledFolder(folder.path);
    const before = readdirSync(folder.path, { recursive: true });
    assert.deepEqual(await check(folder.path), [{ state: "ok", says: "all can be read" }]);
    assert.deepEqual(readdirSync(folder.path, { recursive: true }), before);
  });

  it("finds every file that is damaged, and renames each so that all works again", async () => {
    await using folder = await SampleFolder.create();
    await filledFolder(folder.path);
    const damage = "damaged \u0000 beyond repair\n".repeat(40);
    for (const file of FILES) writeFileSync(join(folder.path, file), damage);
    const found = await check(folder.path);
    for (const file of FILES) {
      const finding = found.find(({ says }) => says.includes(join(folder.path, file)));
      assert.equal(finding?.state, "fail", file);
      assert.match(finding?.next ?? "", /trunkline doctor --fix/);
      assert.equal(finding?.fix?.asks, true, "a person is asked first");
    }
    assert.equal(found.length, FILES.length);
    for (const { fix } of found) await fix?.apply();
    assert.deepEqual(
      (await check(folder.path)).map(({ state }) => state),
      ["ok"],
    );
    const names = readdirSync(folder.path, { recursive: true }).map(String);
    for (const file of FILES) {
      const aside = names.find((name) => name.startsWith(`${file}.damaged-`));
      assert.equal(readFileSync(join(folder.path, aside ?? ""), "utf8"), damage, "nothing is lost");
    }
    await filledFolder(folder.path);
  });

  it("makes a token file private that others could read, and does not call it damaged", async () => {
    await using folder = await SampleFolder.create();
    await filledFolder(folder.path);
    chmodSync(join(folder.path, "identity/tokens.enc"), 0o644);
    const [found] = await check(folder.path);
    assert.match(found?.says ?? "", /tokens\.enc can be read by others/);
    assert.match(found?.command ?? "", /^chmod 600 /);
    await found?.fix?.apply();
    assert.equal((await check(folder.path))[0]?.state, "ok");
  });

  it("does not open a pipe in the place of a file, which would wait for ever", async (test) => {
    if (process.platform === "win32") return test.skip("needs pipes with a name: not on Windows");
    await using folder = await SampleFolder.create();
    mkdirSync(join(folder.path, "audit"), { recursive: true });
    const pipe = join(folder.path, "audit/audit.ndjson");
    execFileSync("mkfifo", [pipe]);
    const [found] = await check(folder.path);
    assert.deepEqual([found?.state, found?.says], ["fail", `${pipe} is not a file`]);
    assert.match(found?.next ?? "", /mv '/);
  });

  it("finds a database of a newer Trunkline, and leaves it alone", async () => {
    await using folder = await SampleFolder.create();
    await filledFolder(folder.path);
    const database = new DatabaseSync(join(folder.path, "tasks.sqlite"));
    database.exec("PRAGMA user_version = 999");
    database.close();
    const [found] = await check(folder.path);
    assert.equal(found?.state, "fail");
    assert.match(found?.says ?? "", /tasks\.sqlite was made by a newer Trunkline/);
    assert.match(found?.next ?? "", /Update Trunkline/);
    assert.equal(found?.fix, undefined);
  });

  it("renames nothing while another program uses the data folder", async () => {
    await using folder = await SampleFolder.create();
    await filledFolder(folder.path);
    await using other = await HoldingProcess.start(folder.path, SESSION);
    writeFileSync(join(folder.path, "trust.json"), "{");
    const [found] = await check(folder.path);
    await assert.rejects(async () => found?.fix?.apply(), new RegExp(`${other.pid}. Stop them`));
    assert.equal(readFileSync(join(folder.path, "trust.json"), "utf8"), "{");
  });

  it("reports a database as unread if the time is up, and not as whole", async () => {
    await using folder = await SampleFolder.create();
    await filledFolder(folder.path);
    await using allowance = new SampleAllowance();
    allowance.giveUp();
    const found = await checkFiles(folder.path, allowance);
    assert.equal(found.filter(({ command }) => command === "trunkline doctor --deep").length, 3);
  });

  it("accepts a torn last line of the audit, which the next entry mends", async () => {
    await using folder = await SampleFolder.create();
    mkdirSync(join(folder.path, "audit"), { recursive: true });
    writeFileSync(join(folder.path, "audit/audit.ndjson"), '{"tool":"a"}\n{"tool":');
    assert.equal((await check(folder.path))[0]?.state, "ok");
  });
});

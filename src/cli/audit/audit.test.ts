import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { AuditLog } from "../../store/audit/audit-log.ts";
import { AUDIT_FILE } from "../../store/audit/audit-names.ts";

const CALL = { time: "2026-01-02T03:04:05.000Z", door: "mcp", caller: "zed", outcome: "ok" };

/** A command line whose audit has three calls. */
async function commandLine(
  config: object = {},
): Promise<{ line: SampleCommandLine; file: string }> {
  const line = await SampleCommandLine.create(config);
  const { config: loaded } = await line.home.load();
  using log = new AuditLog(loaded.data, { anchor: loaded.audit?.anchor });
  log.record({ ...CALL, tool: "git_push", arguments: { branch: "main" } });
  log.record({ ...CALL, tool: "git_push", outcome: "refused", reason: "The policy says no" });
  log.record({
    ...CALL,
    tool: "review_list",
    arguments: { token: "ghp_0123456789abcdefghij0123" },
  });
  return { line, file: join(loaded.data, AUDIT_FILE) };
}

describe("trunkline audit", () => {
  it("finds entries by their words, the newest first", async () => {
    const { line } = await commandLine();
    await using _ = line;
    const all = await line.run("audit", "search");
    assert.match(all.out, /review_list[^]*refused[^]*git_push/);
    assert.doesNotMatch(all.out, /ghp_|seal/);
    const some = await line.run("audit", "search", "PUSH", "policy", "--json");
    const { entries } = JSON.parse(some.out) as { entries: { outcome: string }[] };
    assert.deepEqual(
      entries.map(({ outcome }) => outcome),
      ["refused"],
    );
    const last = await line.run("audit", "search", "--limit", "1");
    assert.doesNotMatch(last.out, /git_push/);
    const none = await line.run("audit", "search", "nothing");
    assert.deepEqual([none.code, none.err], [0, "The audit has no such entry.\n"]);
    assert.equal((await line.run("audit", "search", "--limit", "0")).code, 2);
  });

  it("shows of a permission who chose what, and for what", async () => {
    await using line = await SampleCommandLine.create();
    const { config } = await line.home.load();
    {
      using log = new AuditLog(config.data);
      const outcome = { outcome: "selected", optionId: "allow", kind: "allow_once" };
      log.record({
        time: CALL.time,
        event: "permission",
        title: "Create a.txt",
        outcome,
        by: "zed",
      });
    }
    const { out } = await line.run("audit", "search");
    assert.match(out, / zed +permission +allow_once +Create a\.txt\n$/);
  });

  it("says whether the entries match their seals", async () => {
    const { line, file } = await commandLine({ audit: { anchor: "anchor" } });
    await using _ = line;
    const good = await line.run("audit", "verify");
    assert.deepEqual([good.code, good.out], [0, "3 entries of 1 process match their seals.\n"]);
    writeFileSync(file, readFileSync(file, "utf8").replace('"main"', '"other"'));
    const bad = await line.run("audit", "verify");
    assert.equal(bad.code, 1);
    assert.match(bad.err, /^audit\/audit\.ndjson:4: One or more of the 3 entries/);
    writeFileSync(file, "");
    const gone = await line.run("audit", "verify", "--json");
    const { problems } = JSON.parse(gone.out) as { problems: { says: string }[] };
    assert.match(problems[0]?.says ?? "", /The audit has no such seal/);
  });
});

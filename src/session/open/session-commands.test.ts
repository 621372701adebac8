import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { readAudit } from "../../../test/support/read-audit.ts";
import { subjectKey } from "../permission/permission.ts";
import { SessionCommands } from "./session-commands.ts";

describe("SessionCommands", () => {
  it("revokes a permission that was given for always, and audits that", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-commands-"));
    await using commands = await SessionCommands.open(folder.path);
    const subject = { action: "fetch", host: "x.example" } as const;
    const rule = { workspace: "/w", decision: "allow" } as const;
    const given = { ...rule, subject: subjectKey(subject) };
    await commands.rules.add({ ...given, session: "s", by: "editor", principal: "" });
    const [kept] = await commands.rules.list();
    assert.equal(await commands.revoke(kept?.id ?? 0), true);
    assert.deepEqual(await commands.rules.list(), []);
    assert.equal(await commands.revoke(kept?.id ?? 0), false);
    const entries = await Array.fromAsync(readAudit(folder.path));
    assert.equal(entries.length, 1);
    const { time: _, ...entry } = entries[0] ?? {};
    assert.deepEqual(entry, { event: "permission-revoked", rule: kept?.id, ...rule, subject });
  });
});

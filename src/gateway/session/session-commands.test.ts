import assert from "node:assert/strict";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { House } from "../house.ts";
import { SessionDesk } from "./session-commands.ts";

describe("SessionDesk", () => {
  it("revokes what was permitted once and for all, and puts that on record", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-desk-"));
    const config = { data: folder.path } as House["config"];
    await using desk = await SessionDesk.open({ config });
    const rule = { workspace: "/w", subject: "execute npm install", decision: "allow" } as const;
    await desk.rules.add({ ...rule, session: "s", by: "editor", principal: "" });
    const [kept] = await desk.rules.list();
    assert.equal(await desk.revoke(kept?.id ?? 0), true);
    assert.deepEqual(await desk.rules.list(), []);
    assert.equal(await desk.revoke(kept?.id ?? 0), false);
    const lines = (await readFile(join(folder.path, "audit.ndjson"), "utf8")).trim().split("\n");
    assert.equal(lines.length, 1);
    const { time: _, ...entry } = JSON.parse(lines[0] ?? "") as Record<string, unknown>;
    assert.deepEqual(entry, { event: "permission-revoked", rule: kept?.id, ...rule });
  });
});

import assert from "node:assert/strict";
import { appendFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { AuditLog } from "./audit-log.ts";
import { AUDIT_FILE } from "./audit-names.ts";
import { auditBackwards } from "./audit-reader.ts";
import { repairAudit, verifyAudit } from "./verify-audit.ts";

function record(data: string, ...numbers: readonly number[]): void {
  using log = new AuditLog(data);
  for (const n of numbers) log.record({ n });
}

describe("repairAudit()", () => {
  it("moves damaged lines away, and leaves every entry with its seal where it is", async () => {
    await using folder = await SampleFolder.create();
    const data = folder.path;
    const path = join(data, AUDIT_FILE);
    record(data, 1, 2);
    appendFileSync(path, '{"torn":\n\u0000\u0000\n');
    record(data, 3);
    appendFileSync(path, '{"begun":');
    const { size } = statSync(path);
    await repairAudit(data, ".damaged-now");
    assert.equal(readFileSync(`${path}.damaged-now`, "utf8"), '{"torn":\n\u0000\u0000\n');
    assert.ok(readFileSync(path, "utf8").slice(0, size).endsWith('{"begun":'), "places stay");
    const found = await Array.fromAsync(auditBackwards(data));
    const numbers = found.map(({ entry }) => entry.n).filter((n) => n !== undefined);
    assert.deepEqual(numbers, [3, 2, 1]);
    const { problems, sealed, repairs } = await verifyAudit(data);
    assert.deepEqual([problems, sealed], [[], 4]);
    assert.deepEqual(
      repairs.map(({ file, lines, moved }) => [file, lines, moved]),
      [[AUDIT_FILE, 2, `${AUDIT_FILE}.damaged-now`]],
    );
  });

  it("changes nothing where nothing is damaged", async () => {
    await using folder = await SampleFolder.create();
    record(folder.path, 1);
    const before = readFileSync(join(folder.path, AUDIT_FILE), "utf8");
    await repairAudit(folder.path, ".damaged-now");
    assert.equal(readFileSync(join(folder.path, AUDIT_FILE), "utf8"), before);
  });
});

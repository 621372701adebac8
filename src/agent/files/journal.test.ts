import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Journal } from "./journal.ts";

describe("Journal", () => {
  it("saves the old content of a file, or reports an error, whichever write fails", async () => {
    await using folder = await SampleFolder.create();
    using disk = new DiskFaults(folder.path);
    for (const fault of ["ENOSPC", "EIO", "torn"] as const) {
      for (let at = 0, isHit = true; isHit; at++) {
        const journal = new Journal(folder.path, `${fault} ${at}`);
        const turn = journal.begin();
        isHit = false;
        disk.calls = [];
        disk.decide = (_, index) => {
          isHit ||= index === at;
          return index === at ? fault : undefined;
        };
        let refusals = 0;
        // Whoever is refused tries again, as a model does.
        for (const path of ["/a", "/b", "/a", "/b"]) {
          try {
            await turn.before(path, Buffer.from(`what ${path} held`));
            await turn.after(path, [Buffer.from("new")]);
          } catch (error) {
            refusals++;
            assert.match((error as Error).message, /^Cannot (?:make|write) '.*no space|i\/o error/);
          }
        }
        disk.decide = () => undefined;
        assert.equal(refusals, isHit ? 1 : 0, `${fault} ${at}`);
        const { changes = [] } = (await journal.last()) ?? {};
        assert.deepEqual(
          changes.map(({ path, before }) => `${path}: ${before?.toString()}`).toSorted(),
          ["/a: what /a held", "/b: what /b held"],
          `${fault} ${at}`,
        );
      }
    }
  });
});

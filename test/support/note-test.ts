import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { ownMark } from "../../src/base/process/process-mark.ts";

/** What a process does that runs tests. */
export interface TestNote {
  readonly file: string;
  /** The temporary folder of the file, by which its processes are known. */
  readonly folder: string;
  /** The test that runs; none before the first, and after the last. */
  readonly test?: string | undefined;
}

/** Notes what this process does now, for whoever ends tests that hang (scripts/end-hanging-tests.ts). */
export function noteTest(note: TestNote): void {
  const folder = process.env["TRUNKLINE_TEST_NOTES"];
  if (folder !== undefined) writeFileSync(join(folder, ownMark()), JSON.stringify(note));
}

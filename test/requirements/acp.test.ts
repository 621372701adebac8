import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { pathToFileURL } from "node:url";

import { ACP_REQUIREMENTS } from "./acp.ts";

const ROOT = join(import.meta.dirname, "../..");

it("every requirement of the ACP message specification is cited by a test", async () => {
  const finder = pathToFileURL(join(ROOT, "scripts/test-files.mjs")).href;
  const { testFiles } = (await import(finder)) as { testFiles: (root: string) => string[] };
  const cited = new Set<string>();
  for (const file of testFiles(ROOT)) {
    const source = readFileSync(join(ROOT, file), "utf8");
    for (const [, list = ""] of source.matchAll(/\bcovers\(([^)]*)\)/g)) {
      for (const [, name = ""] of list.matchAll(/"([^"]+)"/g)) cited.add(name);
    }
  }
  const uncited = Object.keys(ACP_REQUIREMENTS).filter((name) => !cited.has(name));
  assert.deepEqual(uncited, []);
});

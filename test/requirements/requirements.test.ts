import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import type { Requirement } from "../support/requirement.ts";

const ROOT = join(import.meta.dirname, "../..");

interface Manifest {
  readonly REQUIREMENTS: Readonly<Record<string, Requirement>>;
}

/** Every file beside this one is the manifest of one document, which its names begin with. */
const documents = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .map((file) => basename(file, ".ts"));
const manifests = new Map<string, readonly string[]>();
for (const document of documents) {
  const { href } = pathToFileURL(join(import.meta.dirname, `${document}.ts`));
  const { REQUIREMENTS } = (await import(href)) as Manifest;
  manifests.set(document, Object.keys(REQUIREMENTS));
}
const cited = await citedNames();

for (const [document, names] of manifests) {
  describe(`the requirements of ${document}`, () => {
    it("have names that begin with their document", () => {
      assert.ok(names.length > 0);
      assert.deepEqual(
        names.filter((name) => !name.startsWith(`${document}.`)),
        [],
      );
    });

    it("are each cited by a test", () => {
      assert.deepEqual(
        names.filter((name) => !cited.has(name)),
        [],
      );
    });
  });
}

it("tests cite only existing requirements", () => {
  const known = new Set([...manifests.values()].flat());
  const unknown = [...cited].filter(([name]) => !known.has(name));
  assert.deepEqual(
    unknown.map(([name, file]) => `${name} in ${file}`),
    [],
  );
});

/** The names in calls of `covers`, each with a file that cites it. */
async function citedNames(): Promise<Map<string, string>> {
  const finder = pathToFileURL(join(ROOT, "scripts/test-files.mjs")).href;
  const { testFiles } = (await import(finder)) as {
    testFiles: (root: string, kind?: string) => string[];
  };
  const names = new Map<string, string>();
  // CI runs both.
  for (const file of [...testFiles(ROOT), ...testFiles(ROOT, "long")]) {
    const source = readFileSync(join(ROOT, file), "utf8");
    for (const [, list = ""] of source.matchAll(/\bcovers\(([^)]*)\)/g)) {
      for (const [, name = ""] of list.matchAll(/"([^"]+)"/g)) names.set(name, file);
    }
  }
  return names;
}

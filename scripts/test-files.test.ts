import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

// Plain JavaScript for old Nodes, without types.
const { testFiles } = (await import(new URL("test-files.mjs", import.meta.url).href)) as {
  readonly testFiles: (root: string, kind?: string) => string[];
};

describe("testFiles()", () => {
  it("has each test in one of `npm test`, `test:long` and `test:interop`, and in two if its rounds differ", () => {
    using root = mkdtempDisposableSync(join(tmpdir(), "files-"));
    const texts = {
      "src/a.test.ts": 'import "node:test";\n',
      "src/a.ts": "",
      "scripts/b.test.ts": "",
      "bench/c.test.ts": "",
      "test/e2e/killed.test.ts": 'import { rounds } from "../support/full-run.ts";\n',
      "test/e2e/long.test.ts": "// Long: starts forty programs.\n",
      "test/e2e/long-killed.test.ts": '// Long: kills.\nimport "../support/full-run.ts";\n',
      "test/interop/other.test.ts": "",
      "test/interop/setup/node_modules/x/x.test.ts": "",
    };
    for (const [file, text] of Object.entries(texts)) {
      mkdirSync(dirname(join(root.path, file)), { recursive: true });
      writeFileSync(join(root.path, file), text);
    }
    const own = ["src/a.test.ts", "scripts/b.test.ts", "bench/c.test.ts"];
    const both = ["test/e2e/killed.test.ts"];
    assert.deepEqual(testFiles(root.path).toSorted(), [...own, ...both].toSorted());
    const long = ["test/e2e/long-killed.test.ts", "test/e2e/long.test.ts"];
    assert.deepEqual(testFiles(root.path, "long").toSorted(), long);
    assert.deepEqual(testFiles(root.path, "interop").toSorted(), [
      ...both,
      "test/e2e/long-killed.test.ts",
      "test/interop/other.test.ts",
    ]);
  });
});

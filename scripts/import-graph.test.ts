import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { circles, codeLines, importGraph } from "./import-graph.ts";

describe("importGraph()", () => {
  it("finds circles through types, lazy imports and exports, and leaves out what nothing imports", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-graph-"));
    const files = {
      "main.ts": 'import { a } from "./a.ts";\nimport "node:fs";\n',
      "a.ts": 'import type {\n  B,\n} from "./b.ts";\n',
      "b.ts": 'const c = await import("./c.ts");\n',
      "c.ts": 'export { a } from "./a.ts";\n// import "./main.ts";\n',
      "alone.ts": 'import "./main.ts";\n',
    };
    for (const [name, text] of Object.entries(files))
      await writeFile(join(folder.path, name), text);
    const graph = importGraph(folder.path, ["main.ts"]);
    assert.deepEqual([...graph.keys()].toSorted(), ["a.ts", "b.ts", "c.ts", "main.ts"]);
    assert.deepEqual(circles(graph), [["a.ts", "b.ts", "c.ts"]]);
  });
});

describe("codeLines()", () => {
  it("leaves out blank lines and comments", () => {
    const text = "/* one\n   two */\n\n/** doc\n * more\n */\nlet a = 1; // one\n  // alone\n";
    assert.deepEqual(codeLines(text), ["let a = 1; // one"]);
  });
});

import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

// Plain JavaScript for old Nodes, without types.
const { groupTests } = (await import(new URL("test-groups.mjs", import.meta.url).href)) as {
  readonly groupTests: (root: string, files: readonly string[]) => string[];
};

/** What the runner is given for these files, of which one says that it wants a process of its own. */
function grouped(root: string, files: readonly string[], alone = ""): string[] {
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    const line = file === alone ? "// In a process of its own: it fills the memory.\n" : "";
    writeFileSync(join(root, file), `import "node:test";\n${line}`);
  }
  return groupTests(root, files);
}

const temporary = () => mkdtempDisposableSync(join(tmpdir(), "groups-"));

describe("groupTests()", () => {
  const files = ["src/rpc/a.test.ts", "src/rpc/deep/b.test.ts", "src/rpc/c.test.ts"];

  it("has the files of a folder in src, at any depth, in one process", () => {
    using root = temporary();
    const [group = "", ...others] = grouped(root.path, files);
    assert.deepEqual(others, []);
    const text = readFileSync(join(root.path, group), "utf8");
    for (const file of files) assert.ok(text.includes(JSON.stringify(file)), text);
  });

  it("gives a process of its own to a file that says so, is elsewhere, or alone in its folder", () => {
    using root = temporary();
    const others = [
      "src/wire/d.test.ts",
      "src/e.test.ts",
      "test/e2e/f.test.ts",
      "test/e2e/g.test.ts",
    ];
    const starts = grouped(root.path, [...files, ...others], "src/rpc/c.test.ts");
    assert.deepEqual(starts.slice(1), ["src/rpc/c.test.ts", ...others]);
    assert.match(starts[0] ?? "", /src-rpc-\w+\.mjs$/);
  });

  it("writes no group over another of the same folder, which somebody may run just now", () => {
    using root = temporary();
    const [all] = grouped(root.path, files);
    const [some] = grouped(root.path, files.slice(1));
    assert.notEqual(all, some);
    assert.deepEqual(grouped(root.path, files), [all]);
  });
});

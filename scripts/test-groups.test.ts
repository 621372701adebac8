import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

// Plain JavaScript for old Nodes, without types.
const { groupTests } = (await import(new URL("test-groups.mjs", import.meta.url).href)) as {
  readonly groupTests: (root: string, files: readonly string[]) => string[];
};

/** Writes test files, of which one says that it wants a process of its own, and groups them. */
function grouped(root: string, files: readonly string[], alone = ""): string[] {
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    const line = file === alone ? "// In a process of its own: it fills the memory.\n" : "";
    writeFileSync(join(root, file), `import "node:test";\n${line}`);
  }
  return groupTests(root, files);
}

/** The files of each process, in the order in which the runner starts them: by name. */
function filesOf(root: string, starts: readonly string[]): string[][] {
  return starts.toSorted().map((start) => {
    const [, list = "[]"] = /testTogether\((\[.*\])/s.exec(read(root, start)) ?? [];
    return JSON.parse(list) as string[];
  });
}

const read = (root: string, file: string): string => readFileSync(join(root, file), "utf8");
const temporary = () => mkdtempDisposableSync(join(tmpdir(), "groups-"));

describe("groupTests()", () => {
  const files = ["src/rpc/a.test.ts", "src/rpc/deep/b.test.ts", "src/rpc/c.test.ts"];

  it("has the files of a folder in src, at any depth, in one process", () => {
    using root = temporary();
    assert.deepEqual(filesOf(root.path, grouped(root.path, files)), [files]);
  });

  it("has at most four end-to-end tests in one process: of a subject, or of those that have no other", () => {
    using root = temporary();
    const bus = ["a", "b", "c", "d", "e"].map((name) => `test/e2e/bus-${name}.test.ts`);
    const single = ["chat", "cli"].map((name) => `test/e2e/${name}.test.ts`);
    const starts = grouped(root.path, [...bus, ...single, "test/e2e/bus.test.ts"]);
    assert.deepEqual(filesOf(root.path, starts), [
      bus.slice(0, 4),
      ["test/e2e/bus-e.test.ts", "test/e2e/bus.test.ts"],
      single,
    ]);
  });

  it("gives a process of its own to a file that says so, or belongs to no group", () => {
    using root = temporary();
    const others = ["src/e.test.ts", "test/fuzz/f.test.ts", "test/fuzz/g.test.ts"];
    const starts = grouped(root.path, [...files, ...others], "src/rpc/c.test.ts");
    const alone = filesOf(root.path, starts).filter(({ length }) => length === 1);
    assert.deepEqual(alone.flat().toSorted(), [...others, "src/rpc/c.test.ts"].toSorted());
  });

  it("has files that wait while they load by themselves", () => {
    using root = temporary();
    for (const file of files) {
      mkdirSync(dirname(join(root.path, file)), { recursive: true });
      writeFileSync(join(root.path, file), `const read = async () => await x;\n  await y;\n`);
    }
    writeFileSync(join(root.path, "src/rpc/c.test.ts"), "const x = (await import(\n'x'));\n");
    const starts = groupTests(root.path, files);
    assert.deepEqual(filesOf(root.path, starts), [files.slice(0, 2), files.slice(2)]);
    const ends = starts.map((start) => /-awaiting-\w+\.mjs$/.test(start));
    assert.deepEqual(ends, [false, true]);
    assert.match(read(root.path, starts[1] ?? ""), /\{ awaiting: true \}/);
  });

  it("has the runner start first what takes longest", () => {
    using root = temporary();
    const starts = grouped(root.path, [
      ...["src/rpc/a.test.ts", "test/e2e/b.test.ts", "test/fuzz/c.test.ts"],
    ]);
    assert.deepEqual(filesOf(root.path, starts).flat(), [
      ...["test/fuzz/c.test.ts", "test/e2e/b.test.ts", "src/rpc/a.test.ts"],
    ]);
  });

  it("writes no group over another of the same folder, which somebody may run just now", () => {
    using root = temporary();
    const [all] = grouped(root.path, files);
    const [some] = grouped(root.path, files.slice(1));
    assert.notEqual(all, some);
    assert.deepEqual(grouped(root.path, files), [all]);
  });
});

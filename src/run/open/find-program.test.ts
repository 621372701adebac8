import assert from "node:assert/strict";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtempDisposable, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { findProgram } from "./find-program.ts";

function write(file: string, mode = 0o755): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, mode);
  return file;
}

async function sampleFolder() {
  const folder = await mkdtempDisposable(join(tmpdir(), "trunkline-program-"));
  return { path: await realpath(folder.path), [Symbol.asyncDispose]: () => folder.remove() };
}

describe("findProgram()", () => {
  it("finds the first folder of PATH in which the program is executable", async () => {
    await using folder = await sampleFolder();
    const [zero, one, two, three] = ["zero", "one", "two", "three"].map((name) =>
      join(folder.path, name),
    );
    mkdirSync(join(zero ?? "", "agent"), { recursive: true });
    write(join(one ?? "", "agent"), 0o644);
    const wanted = write(join(two ?? "", "agent"));
    write(join(three ?? "", "agent"));
    const path = ["", "relative", zero, one, two, three].join(":");
    assert.equal(findProgram("agent", path)?.path, wanted);
    assert.equal(findProgram("other", path), undefined);
    assert.equal(findProgram(wanted, "")?.path, wanted);
    assert.equal(findProgram(join(one ?? "", "agent"), ""), undefined);
  });

  it("includes the whole package that a link leads into, with its dependencies", async () => {
    await using folder = await sampleFolder();
    const modules = join(folder.path, "lib/node_modules");
    const real = write(join(modules, "agent/node_modules/dependency/bin/agent.js"));
    const link = join(folder.path, "bin/agent");
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(real, link);
    const found = findProgram("agent", dirname(link));
    assert.deepEqual(found, { path: link, needs: [link, real, modules] });
  });

  it("includes the folder with package.json, or else the program's own folder", async () => {
    await using folder = await sampleFolder();
    const program = write(join(folder.path, "app/dist/agent"));
    assert.deepEqual(findProgram(program, "")?.needs, [program, dirname(program)]);
    write(join(folder.path, "app/package.json"));
    assert.deepEqual(findProgram(program, "")?.needs, [program, join(folder.path, "app")]);
    writeFileSync(join(folder.path, "app/dist/package.json"), '{ "type": "commonjs" }');
    assert.deepEqual(findProgram(program, "")?.needs, [program, join(folder.path, "app")]);
  });
});

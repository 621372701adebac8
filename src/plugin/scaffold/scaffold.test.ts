import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { scaffoldPlugin } from "./scaffold.ts";

const temporary = () => mkdtempDisposable(join(tmpdir(), "trunkline-scaffold-"));

describe("scaffoldPlugin()", () => {
  it("creates a plugin of the given name, and says what to do next", async () => {
    await using home = await temporary();
    const folder = join(home.path, "deep/greeter");
    const said = await scaffoldPlugin(folder, "tools.greeter");
    assert.match(said, /^Made the plugin 'tools\.greeter' in .*greeter\. Next:/);
    assert.match(
      said,
      /\n {2}cd \S+\n {2}npm install\n {2}npm test\n {2}trunkline plugin dev \.\n/,
    );
    assert.match(await readFile(join(folder, "plugin.ts"), "utf8"), /id: "tools\.greeter"/);
    const text = await readFile(join(folder, "package.json"), "utf8");
    const { name, dependencies } = JSON.parse(text) as {
      name: string;
      dependencies: { trunkline: string };
    };
    assert.equal(name, "tools.greeter");
    const own = dependencies.trunkline.replace("file:", "");
    const found = JSON.parse(await readFile(join(own, "package.json"), "utf8")) as { name: string };
    assert.equal(found.name, "trunkline");
  });

  it("names a Node that can run it, whatever `node` is", async () => {
    await using home = await temporary();
    await scaffoldPlugin(home.path, "greeter");
    const readme = await readFile(join(home.path, "README.md"), "utf8");
    const node = JSON.stringify(process.execPath);
    assert.ok(readme.includes(`binary: ${node}\n`));
    assert.match(readme, /\nexport PATH=\S+:"\$PATH"\nnpm install\n/);
  });

  it("accepts an empty folder", async () => {
    await using home = await temporary();
    await scaffoldPlugin(home.path, "greeter");
    assert.equal((await readdir(home.path)).length, 6);
  });

  it("quotes a folder name for a shell", async () => {
    await using home = await temporary();
    const said = await scaffoldPlugin(join(home.path, "it's here"), "greeter");
    assert.match(said, /\n {2}cd '.*it'\\''s here'\n/);
  });

  it("refuses a folder that is not empty", async () => {
    await using home = await temporary();
    await writeFile(join(home.path, "mine.txt"), "mine");
    const refused = { code: "usage", message: /it is not empty \(mine\.txt\)/ };
    await assert.rejects(scaffoldPlugin(home.path, "greeter"), refused);
    assert.deepEqual(await readdir(home.path), ["mine.txt"]);
  });

  it("refuses a file in place of a folder", async () => {
    await using home = await temporary();
    const file = join(home.path, "file");
    await writeFile(file, "");
    await assert.rejects(scaffoldPlugin(file, "greeter"), {
      code: "config",
      message: /not a directory/,
    });
  });

  it("leaves nothing behind if the disk is full, so that the next attempt works", async () => {
    await using home = await temporary();
    const folder = join(home.path, "deep/greeter");
    for (const at of [0, 1, 3, 5, 8]) {
      using disk = new DiskFaults(home.path);
      disk.decide = ({ operation }, index) =>
        index >= at && operation !== "rm" ? "torn" : undefined;
      await assert.rejects(scaffoldPlugin(folder, "greeter"), {
        code: "config",
        message: /no space left on device.*\. Free some space on its disk, and try again\.$/,
      });
      assert.deepEqual(await readdir(home.path), [], `call ${at}`);
    }
    await scaffoldPlugin(folder, "greeter");
    assert.equal((await readdir(folder)).length, 6);
  });

  it("keeps what somebody else puts into the folder meanwhile", async () => {
    await using home = await temporary();
    using disk = new DiskFaults(home.path);
    disk.decide = ({ operation, path }) => {
      if (operation === "open" && path.endsWith("plugin.ts")) writeFileSync(path, "mine");
      return undefined;
    };
    await assert.rejects(scaffoldPlugin(home.path, "greeter"), {
      message: /file already exists: '/,
    });
    assert.deepEqual(await readdir(home.path), ["plugin.ts"]);
  });

  it("refuses names that cannot be an id or a package", async () => {
    await using home = await temporary();
    for (const name of ["", "Greeter", "a b", "../x", ".hidden", "ca", 'x"', "node_modules"]) {
      const folder = join(home.path, "x");
      await assert.rejects(scaffoldPlugin(folder, name), { code: "usage" }, name);
    }
    assert.deepEqual(await readdir(home.path), []);
  });
});

import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempDisposableSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Log } from "../../base/log.ts";
import { checkPin, codeFile, pinOf } from "./pin.ts";
import { Plugin } from "./plugin.ts";
import { pluginSettings } from "./settings.ts";

describe("codeFile()", () => {
  it("is the script of a runner, else the program itself, and none of the system or of npx", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-pin-"));
    const file = join(folder.path, "p.py");
    writeFileSync(file, "");
    assert.equal(codeFile(["python3", "-u", file, "x"]), file);
    assert.equal(codeFile(["/usr/bin/python3", "p.py"], folder.path), file);
    const hook = folder.path + "/hook.cjs";
    writeFileSync(hook, "");
    for (const option of ["-r", "--import", "--env-file"]) {
      assert.equal(codeFile(["node", option, hook, file]), file);
    }
    assert.equal(codeFile(["./p.py", "--x"], folder.path), file);
    assert.equal(codeFile([file]), file);
    for (const words of [
      ["npx", "-y", file],
      ["sh", "-c", "exit"],
      ["p.py"],
      ["python3", "none.py"],
    ]) {
      assert.equal(codeFile(words, folder.path), undefined);
    }
  });
});

describe("checkPin()", () => {
  it("holds a plugin whose package has changed in any way, except for what is installed", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-pin-"));
    const at = (name: string): string => join(folder.path, name);
    writeFileSync(at("package.json"), "{}");
    writeFileSync(at("p.mjs"), "one");
    mkdirSync(at("node_modules"));
    const settings = pluginSettings({ id: "a", binary: "node", code: at("p.mjs") });
    const pin = await pinOf(settings, "1.2.0");
    assert.ok(pin !== undefined);
    const check = () => checkPin({ ...settings, pin });
    await check();
    writeFileSync(at("node_modules/x"), "");
    writeFileSync(at(".hidden"), "");
    await check();
    for (const [change, back] of [
      [() => writeFileSync(at("p.mjs"), "two"), () => writeFileSync(at("p.mjs"), "one")],
      [() => writeFileSync(at("more.mjs"), ""), () => rmSync(at("more.mjs"))],
      [() => symlinkSync("/etc", at("link")), () => rmSync(at("link"))],
      [() => chmodSync(at("p.mjs"), 0o755), () => chmodSync(at("p.mjs"), 0o644)],
    ] as const) {
      change();
      await assert.rejects(check, /changed since version 1\.2\.0 was approved.*plugin approve a`/);
      back();
      await check();
    }
    rmSync(at("p.mjs"));
    await assert.rejects(check);
    await checkPin(settings);
  });

  it("lets other work go on while it reads a large package", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-pin-"));
    const code = join(folder.path, "p.mjs");
    writeFileSync(code, Buffer.alloc(20 * 1024 * 1024));
    let [isOver, turns] = [false, 0];
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    count();
    const pin = await pinOf(pluginSettings({ id: "a", binary: "node", code }));
    isOver = true;
    // One at least for each megabyte.
    assert.ok(turns >= 20, `${turns}`);
    assert.match(pin?.sha256 ?? "", /^[0-9a-f]{64}$/);
  });
});

describe("a plugin that has changed", () => {
  it("is held, and not started however often it is wanted", async () => {
    const lines: string[] = [];
    const settings = pluginSettings({ id: "a", binary: "node", code: "/no/such/module.mjs" });
    const pin = { sha256: "0".repeat(64) };
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-pin-"));
    const module = join(folder.path, "p.mjs");
    writeFileSync(module, "");
    const plugin = new Plugin(
      { ...settings, code: module, pin },
      {
        log: new Log("warn", (line) => void lines.push(line)),
        folder: () => assert.fail("it was started"),
        orchestratorAddress: () => assert.fail("it was started"),
        dial: () => assert.fail("it was started"),
        needs: () => [],
        changed: () => {},
      },
    );
    await assert.rejects(plugin.start(), /changed since it was approved/);
    await assert.rejects(plugin.restart());
    const { state, lastError, restarts } = plugin.status();
    assert.deepEqual([state, restarts], ["held", 0]);
    assert.match(lastError ?? "", /Run `trunkline plugin approve a`/);
    assert.throws(() => plugin.link(), /is held/);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).event),
      ["plugin.held", "plugin.held"],
    );
    await plugin.stop();
  });
});

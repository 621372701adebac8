import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempDisposableSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";

test("scripts/trunkline says how to build what is missing, and then runs it by any link", () => {
  using checkout = mkdtempDisposableSync(join(tmpdir(), "trunkline-checkout-"));
  const at = (name: string): string => {
    const path = join(checkout.path, name);
    mkdirSync(dirname(path), { recursive: true });
    return path;
  };
  cpSync(join(import.meta.dirname, "trunkline"), at("scripts/trunkline"));
  symlinkSync("../scripts/trunkline", at("bin/trunkline"));
  const start = () => spawnSync(at("bin/trunkline"), ["a b"], { encoding: "utf8" });
  const refuses = (what: string): void => {
    const { status, stderr } = start();
    const says = `trunkline: Cannot start: it is not built yet. Run 'npm run build' in ${checkout.path}.\n`;
    assert.deepEqual([status, stderr], [1, says], what);
  };
  refuses("without a build");
  writeFileSync(at("dist/trunkline.js"), "console.log(process.argv[2])");
  refuses("without packages");
  symlinkSync(process.execPath, at("node_modules/.bin/node"));
  assert.equal(start().stdout, "a b\n");
});

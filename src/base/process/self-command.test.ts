import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempDisposableSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { it } from "node:test";

import { lastingPath, selfCommand } from "./self-command.ts";

it("selfCommand() names the program by absolute paths", () => {
  const words = selfCommand();
  assert.deepEqual(
    words.filter((word) => !isAbsolute(word)),
    [],
  );
  assert.equal(words.at(-1), resolve(process.argv[1] ?? ""));
});

it("lastingPath() takes Homebrew's link while it leads to the same Node", () => {
  using folder = mkdtempDisposableSync(join(realpathSync(tmpdir()), "trunkline-cellar-"));
  const at = (...parts: string[]): string => join(folder.path, ...parts);
  const node = at("Cellar/node/26.10.0/bin/node");
  for (const version of ["26.10.0", "26.11.0"]) {
    mkdirSync(at("Cellar/node", version, "bin"), { recursive: true });
    writeFileSync(at("Cellar/node", version, "bin/node"), "");
  }
  assert.equal(lastingPath(node), node, "there is no link");
  mkdirSync(at("opt"));
  symlinkSync("../Cellar/node/26.10.0", at("opt/node"));
  assert.equal(lastingPath(node), at("opt/node/bin/node"));
  assert.equal(lastingPath(at("Cellar/node/26.11.0/bin/node")), at("Cellar/node/26.11.0/bin/node"));
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { runForBytes } from "../../../test/support/run-from-shell.ts";
import { parseConfigList } from "./git-config.ts";
import { ConfigText } from "./edit-config.ts";
import { sampleConfig } from "../../../test/samples/sample-config.ts";

/** What git reads in a configuration file. */
function gitReads(bytes: Buffer): string[] {
  const out = runForBytes("git", ["config", "--file", "-", "-z", "--list"], { input: bytes });
  return parseConfigList(out.toString("latin1")).map(({ key, value }) => {
    return `${key}=${value?.replaceAll(/[\t\r ]/g, " ") ?? "(true)"}`;
  });
}

function weRead(bytes: Buffer): string[] {
  return ConfigText.of(bytes).items.map(({ key, value }) => {
    return `${key}=${value?.replaceAll(/[\t\r ]/g, " ") ?? "(true)"}`;
  });
}

describe("ConfigText", { timeout: 120_000 }, () => {
  it("reads 200 files as git does", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const bytes = sampleConfig(new SeededRandom(seed));
      assert.deepEqual(
        weRead(bytes),
        gitReads(bytes),
        `seed ${seed}:\n${bytes.toString("latin1")}`,
      );
    }
  });

  it("refuses what git refuses", () => {
    const wrong = [
      "[a\n]",
      '[a]\n\tb = "open',
      "[a]\n\tb = \\x",
      "[a]\n1b = c",
      '[a "b]',
      '[a "b" ]',
      "[a]\n\tb c",
      "[a_b]",
    ];
    for (const text of wrong) {
      assert.throws(() => new ConfigText(text), { code: "config" }, text);
      assert.throws(() => gitReads(Buffer.from(text)), text);
    }
  });
});

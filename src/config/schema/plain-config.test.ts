import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { rounds } from "../../../test/support/full-run.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { isPlainConfig } from "./plain-config.ts";
import { checkConfigFile } from "./schema.gen.ts";

const VALUES = ["", "x", 0, 1, true, false, null, [], ["x"], ["x", 1], {}, { A: "b" }, { A: 1 }];
const KEYS = ["type", "command", "args", "env", "cwd", "disabled", "url", "timeout", "other"];
const LIKELY: Readonly<Record<string, readonly unknown[]>> = {
  type: ["stdio", "local", "http"],
  command: ["npx"],
  args: [["-y", "some-server"]],
  env: [{ TOKEN: "${TOKEN}" }],
  disabled: [true],
};

function server(chance: SeededRandom): unknown {
  if (chance.once(20)) return chance.pick<unknown>(VALUES);
  const keys = KEYS.filter((key) => (key === "command" ? !chance.once(5) : chance.once(4)));
  return Object.fromEntries(
    keys.map((key) => [key, chance.pick(chance.once(4) ? VALUES : (LIKELY[key] ?? VALUES))]),
  );
}

const ROUNDS = rounds({ few: 4_000, all: 20_000 });

describe("isPlainConfig()", () => {
  it("accepts nothing that the schema refuses", () => {
    const chance = new SeededRandom(3);
    let [accepted, refused] = [0, 0];
    for (let round = 0; round < ROUNDS; round++) {
      const names = ["a", "b c", "", "__proto__"].filter(() => chance.once(3));
      const config = {
        ...(chance.once(9) ? { $schema: chance.pick<unknown>(VALUES) } : {}),
        ...(chance.once(9) ? { [chance.pick(["log", "x", "data"])]: chance.pick(VALUES) } : {}),
        mcpServers: chance.once(20)
          ? chance.pick<unknown>(VALUES)
          : Object.fromEntries(names.map((name) => [name, server(chance)])),
      };
      const problem = checkConfigFile(config);
      if (problem !== undefined) refused++;
      if (!isPlainConfig(config)) continue;
      accepted++;
      assert.equal(problem, undefined, JSON.stringify(config));
    }
    assert.ok(
      accepted > ROUNDS / 20 && refused > ROUNDS / 20,
      `${accepted} accepted, ${refused} refused`,
    );
  });

  it("accepts what people paste", () => {
    const files = { command: "npx", args: ["-y", "some-server", "/tmp"], env: { A: "b" } };
    assert.equal(isPlainConfig?.({ mcpServers: { files, other: { command: "x" } } }), true);
  });
});

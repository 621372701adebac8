import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { ALWAYS, compare, plainOf } from "./compare-recordings.ts";
import { claude, codex, goose, notHere, opencode, type OtherAgent } from "./other-agents.ts";
import { EVERYTHING, record } from "./record-agent.ts";

const DOCUMENT = readFileSync(join(import.meta.dirname, "../../docs/ACP.md"), "utf8");
const AGENTS: readonly OtherAgent[] = [claude, codex, opencode, goose];

describe("an agent behind Trunkline says what it says directly", { timeout: 1_800_000 }, () => {
  it("but for what docs/ACP.md names", () => {
    for (const { row } of plainOf(goose))
      assert.match(DOCUMENT, new RegExp(`^\\| ${row} \\|`, "m"));
  });

  for (const agent of AGENTS) {
    it(`${agent.name}, to an editor that announces everything or nothing`, async (t) => {
      const command = await agent.install();
      if (command === undefined) {
        t.skip(notHere(agent));
        return;
      }
      for (const [capabilities, differences] of [
        [EVERYTHING, ALWAYS],
        [{}, plainOf(agent)],
      ] as const) {
        const direct = await record(agent, command, { through: false, capabilities });
        const through = await record(agent, command, { through: true, capabilities });
        compare(direct, through, differences);
      }
    });
  }
});

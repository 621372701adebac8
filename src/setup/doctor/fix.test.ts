import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Finding, Fix } from "./check.ts";
import { applyFixes } from "./doctor.ts";

/** What is printed, and which fixes were applied, with these options and this answer of a person. */
async function fixWith(
  values: { json?: boolean; yes?: boolean },
  answer: boolean | undefined,
  ...fixes: (Omit<Fix, "apply"> & { fails?: boolean })[]
) {
  const applied: string[] = [];
  const asked: string[] = [];
  let printed = "";
  const findings = fixes.map(({ fails = false, ...fix }): Finding => {
    const apply = async () => {
      if (fails) throw new Error("the disk is full");
      applied.push(fix.does);
    };
    return { state: "fail", what: "x", says: "y", fix: { ...fix, apply } };
  });
  const ask = async (question: string) => {
    asked.push(question);
    return answer === true;
  };
  const out = (text: string) => (printed += text);
  const nobody = answer === undefined;
  const fixed = await applyFixes({ values, out }, findings, nobody ? null : ask);
  return { applied, asked, printed, outcomes: fixed.map(({ outcome }) => outcome) };
}

const SAFE = { does: "Do something harmless" };
const MOVES = { does: "Rename a file", asks: true };

describe("applyFixes()", () => {
  it("applies what is safe without a question, and asks before the rest", async () => {
    const agreed = await fixWith({}, true, SAFE, MOVES);
    assert.deepEqual(agreed.asked, ["Rename a file?"]);
    assert.deepEqual(agreed.applied, [SAFE.does, MOVES.does]);
    assert.match(agreed.printed, /^fixed x: Do something harmless\.\nfixed x: Rename a file\.\n$/);
    const declined = await fixWith({}, false, SAFE, MOVES);
    assert.deepEqual(declined.applied, [SAFE.does]);
    assert.deepEqual(declined.outcomes, ["done", "declined"]);
  });

  it("does not rename a file where nobody can be asked, unless --yes is given", async () => {
    const alone = await fixWith({}, undefined, MOVES);
    assert.deepEqual(alone.applied, []);
    assert.match(alone.printed, /needs your consent\. Run `trunkline doctor --fix --yes`/);
    assert.deepEqual((await fixWith({ json: true }, true, MOVES)).outcomes, ["declined"]);
    const agreed = await fixWith({ yes: true, json: true }, undefined, MOVES);
    assert.deepEqual([agreed.applied, agreed.asked, agreed.printed], [[MOVES.does], [], ""]);
  });

  it("goes on after a fix that fails, and says why it did", async () => {
    const { printed, outcomes } = await fixWith({}, true, { ...SAFE, fails: true }, SAFE);
    assert.deepEqual(outcomes, ["failed", "done"]);
    assert.match(printed, /^not fixed x: Do something harmless: the disk is full\n/);
  });
});

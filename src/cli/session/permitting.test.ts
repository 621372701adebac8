import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { permitting } from "./questions.ts";

const options = [
  { optionId: "always", name: "Always", kind: "allow_always" },
  { optionId: "once", name: "Allow", kind: "allow_once" },
  { optionId: "no", name: "Reject", kind: "reject_once" },
] as const;
const toolCall = { toolCallId: "1", title: "Without a sandbox: rm -rf ." };
const { signal } = new AbortController();

async function answer(isYes: boolean, needsPerson: boolean): Promise<[unknown, string]> {
  await using opened = new AsyncDisposableStack();
  let said = "";
  const err = (text: string): void => void (said += text);
  const { permit } = permitting({ isYes, isSilent: true, out: assert.fail, err }, opened);
  const _meta = needsPerson ? { trunkline: { needsPerson } } : {};
  return [await permit({ sessionId: "s", toolCall, options: [...options], _meta }, signal), said];
}

describe("--yes", () => {
  it("allows what the agent asks for, once", async () => {
    assert.deepEqual(await answer(true, false), ["once", ""]);
  });

  it("does not allow what only a person may allow", async () => {
    const [chosen, said] = await answer(true, true);
    assert.equal(chosen, "no");
    assert.match(said, /Refused: Without a sandbox: rm -rf \.\. Only a person at a terminal/);
  });

  it("is named where nobody can be asked", async () => {
    const [chosen, said] = await answer(false, false);
    assert.equal(chosen, "no");
    assert.match(said, /--yes allows it/);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { terminalContext } from "./tools.ts";

const consent = {
  method: "elicitation/create",
  params: { mode: "form", message: "Allow?", requestedSchema: { type: "object", properties: {} } },
};

function caller(confirm?: (message: string) => Promise<boolean>) {
  const told: string[] = [];
  const { signal } = new AbortController();
  const tell = (line: string): void => void told.push(line);
  return { told, caller: terminalContext({ folder: "/srv", signal, tell, confirm }) };
}

describe("terminalContext()", () => {
  it("asks the person for a yes or no", async () => {
    const asked: string[] = [];
    const { caller: yes } = caller(async (message) => asked.push(message) > 0);
    assert.equal(yes.canAsk(consent), true);
    assert.deepEqual(await yes.ask(consent), { action: "accept", content: {} });
    assert.deepEqual(asked, ["Allow?"]);
    const { caller: no } = caller(async () => false);
    assert.deepEqual(await no.ask(consent), { action: "decline" });
  });

  it("refuses questions if nobody is there, or if they need more than yes or no", async () => {
    await assert.rejects(caller().caller.ask(consent), { name: "CannotAsk" });
    const { caller: there } = caller(async () => true);
    const form = { requestedSchema: { properties: { name: { type: "string" } } } };
    for (const question of [
      { method: "elicitation/create", params: form },
      { method: "elicitation/create", params: { mode: "url" } },
      { method: "sampling/createMessage" },
    ]) {
      assert.equal(there.canAsk(question), false);
      await assert.rejects(there.ask(question), { name: "CannotAsk" });
    }
  });

  it("prints what a tool reports while it works", () => {
    const { told, caller: person } = caller();
    person.progress(1);
    person.progress(1, 2, "halfway");
    person.log("debug", "not this");
    person.log("warn", { a: 1 });
    assert.deepEqual(told, ["1", "1/2 halfway", 'warn: {"a":1}']);
  });
});

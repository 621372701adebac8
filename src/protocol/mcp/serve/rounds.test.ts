import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Question } from "../../../tool/tool.ts";
import { covers } from "../../../../test/support/requirement.ts";
import { Rounds } from "./rounds.ts";

const FORM: Question = { method: "elicitation/create", params: { message: "?" } };

describe("Rounds", () => {
  it("end at once if the work asks nothing and waits for nothing", async () => {
    const rounds = new Rounds(() => "done");
    assert.deepEqual(rounds.atOnce, { result: "done" });
    assert.deepEqual(await rounds.pause(), { kind: "done", result: "done" });
  });

  it("ask together what is asked in one turn, under different keys", async () => {
    covers("mcp.mrtr.unique-keys");
    const rounds = new Rounds(async (ask) => Promise.all([ask(FORM), ask(FORM)]));
    const pause = await rounds.pause();
    assert.ok(pause.kind === "asks");
    const keys = [...pause.questions.keys()];
    assert.equal(new Set(keys).size, 2);
    rounds.give(Object.fromEntries(keys.map((key) => [key, { action: "accept", key }])));
    const answers = keys.map((key) => ({ action: "accept", key }));
    assert.deepEqual(await rounds.pause(), { kind: "done", result: answers });
  });

  it("ask again for what was not answered", async () => {
    covers("mcp.mrtr.ask-again");
    const rounds = new Rounds(async (ask) => Promise.all([ask(FORM), ask({ ...FORM, key: "b" })]));
    await rounds.pause();
    rounds.give({ b: { action: "accept" }, "input-1": "no answer", unknown: {} });
    const pause = await rounds.pause();
    assert.ok(pause.kind === "asks");
    assert.deepEqual([...pause.questions.keys()], ["input-1"]);
  });

  it("accept an answer before its question, if the question has its own name", async () => {
    covers("mcp.mrtr.unknown-responses");
    const given = { named: { action: "accept" }, "input-1": { action: "accept" } };
    const rounds = new Rounds(async (ask) => {
      await ask({ ...FORM, key: "named" });
      return ask(FORM);
    }, given);
    const pause = await rounds.pause();
    // The client cannot have known the second: it is asked.
    assert.ok(pause.kind === "asks");
    assert.deepEqual([...pause.questions.keys()], ["input-1"]);
  });

  it("reject with the error of the work, now or after an answer", async () => {
    const rounds = new Rounds(async (ask) => {
      await ask(FORM);
      throw new Error("no disk");
    });
    await rounds.pause();
    rounds.give({ "input-1": {} });
    await assert.rejects(rounds.pause(), /no disk/);
  });

  it("end questions that nobody will answer any more", async () => {
    const rounds = new Rounds(async (ask) => ask(FORM));
    await rounds.begun;
    rounds.abandon(new Error("The client has gone"));
    assert.equal(rounds.questions.size, 0);
    await assert.rejects(rounds.pause(), /The client has gone/);
  });

  it("have begun with the first question, or with the end", async () => {
    const asking = new Rounds(async (ask) => ask(FORM));
    await asking.begun;
    assert.equal(asking.questions.size, 1);
    await new Rounds(async () => "done").begun;
    await new Rounds(() => Promise.reject(new Error("failed"))).begun;
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { PolicyRule } from "./policy.ts";
import { SampleContext, sampleTool } from "../../test/samples/sample-context.ts";
import { echo, textOf, toolbox } from "../../test/samples/sample-toolbox.ts";
import { textResult } from "./tool.ts";

describe("a toolbox with a policy", () => {
  const rule = (decision: PolicyRule["decision"]): PolicyRule[] => [{ tool: "echo", decision }];
  const args = { text: "hi", token: "s3cret" };

  it("refuses denied calls", async () => {
    const { box, entries } = toolbox([echo], rule("deny"));
    const result = await box.call("echo", args, new SampleContext());
    assert.equal(result.isError, true);
    assert.equal(textOf(result), "The policy does not let tester call 'echo'");
    assert.equal(entries[0]?.outcome, "refused");
    assert.equal(entries[0]?.reason, textOf(result));
  });

  it("asks the person, with secrets masked", async () => {
    const { box, entries } = toolbox([echo], rule("ask"));
    const context = new SampleContext({ answer: () => ({ action: "accept" }) });
    assert.equal(textOf(await box.call("echo", args, context)), "hi");
    const [question] = context.asked;
    assert.equal(question?.method, "elicitation/create");
    assert.equal(
      question?.params?.message,
      `Allow "tester" to call 'echo'? Its arguments: {"text":"hi","token":"•••"}`,
    );
    assert.equal(entries[0]?.outcome, "ok");
  });

  for (const answer of [{ action: "decline" }, { action: "cancel" }, {}]) {
    it(`treats ${JSON.stringify(answer)} as a no`, async () => {
      const { box, entries } = toolbox([echo], rule("ask"));
      const context = new SampleContext({ answer: () => answer });
      const result = await box.call("echo", args, context);
      assert.equal(textOf(result), "'echo' was not allowed by the person who was asked");
      assert.equal(entries[0]?.outcome, "refused");
    });
  }

  it("refuses if nobody can be asked, and says what to do", async () => {
    const { box, entries } = toolbox([echo], rule("ask"));
    const result = await box.call("echo", args, new SampleContext());
    assert.match(String(textOf(result)), /this client cannot ask for it.*policy\.tools/);
    assert.equal(entries[0]?.outcome, "refused");
  });

  it("refuses if the question fails, or the answer is invalid", async () => {
    const failing = () => {
      throw new Error("connection lost");
    };
    for (const answer of [failing, () => null]) {
      const { box } = toolbox([echo], rule("ask"));
      const result = await box.call("echo", args, new SampleContext({ answer }));
      assert.match(String(textOf(result)), /the question for it was not answered/);
      assert.doesNotMatch(String(textOf(result)), /connection lost/);
    }
  });

  it("does not call a tool whose caller has disconnected when the person answers", async () => {
    let calls = 0;
    const counting = sampleTool("echo", () => textResult(String(++calls)));
    const { box, entries } = toolbox([counting], rule("ask"));
    const context = new SampleContext({
      answer: () => {
        context.abort.abort();
        return { action: "accept" };
      },
    });
    await box.call("echo", args, context);
    assert.equal(calls, 0);
    assert.equal(entries[0]?.outcome, "cancelled");
  });

  it("shows a person the whole call, with hidden characters escaped", async () => {
    const { box } = toolbox([echo], rule("ask"));
    const context = new SampleContext({
      caller: { name: "evil\u202e\nname" },
      answer: () => ({ action: "decline" }),
    });
    const more = "x y ".repeat(10_000);
    await box.call("echo", { text: "\u202e\u2066", more, last: "rm -rf ~" }, context);
    const message = String(context.asked[0]?.params?.message);
    assert.match(message, /^Allow "evil\\u202e\\nname" to call 'echo'\?/);
    assert.match(message, /\{"text":"\\u202e\\u2066","more"/);
    assert.ok(message.endsWith(`"more":"${more}","last":"rm -rf ~"}`));
  });

  it("does not hide a command behind the mask of a secret", async () => {
    const { box } = toolbox([echo], rule("ask"));
    const context = new SampleContext({ answer: () => ({ action: "decline" }) });
    await box.call("echo", { text: "x?token=$(evil)", auth: "rm -rf ~" }, context);
    const message = String(context.asked[0]?.params?.message);
    assert.match(message, /x\?token=\$\(evil\).*rm -rf ~/);
  });

  it("refuses a call that cannot be shown whole, and asks nobody", async () => {
    let calls = 0;
    const counting = sampleTool("echo", () => textResult(String(++calls)));
    const { box, entries } = toolbox([counting], rule("ask"));
    const context = new SampleContext({ answer: () => ({ action: "accept" }) });
    const result = await box.call("echo", { text: "é".repeat(1024 * 1024) }, context);
    assert.match(String(textOf(result)), /too long to be shown whole.*less at a time/);
    assert.equal(calls + context.asked.length, 0);
    assert.equal(entries[0]?.outcome, "refused");
  });

  it("asks under a key that cannot be known in advance", async () => {
    const { box } = toolbox([echo], rule("ask"));
    const context = new SampleContext({ answer: () => ({ action: "decline" }) });
    for (let time = 0; time < 2; time++) await box.call("echo", args, context);
    const [first, second] = context.asked.map(({ key }) => key);
    assert.match(first ?? "", /^consent-/);
    assert.notEqual(first, second);
  });
});

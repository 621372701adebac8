import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { startScriptedModel } from "./scripted-model.ts";

async function ask(url: string, messages: readonly object[]): Promise<string> {
  const body = JSON.stringify({ model: "scripted", stream: true, messages });
  return (await fetch(`${url}/chat/completions`, { method: "POST", body })).text();
}

describe("startScriptedModel()", () => {
  it("says the next line for the last prompt, and knows what tools have answered", async () => {
    await using model = await startScriptedModel({
      fix: [
        { tool: "look", arguments: { at: "x" } },
        ([found = ""]) => ({ tool: "use", arguments: { found } }),
        "Done.",
      ],
    });
    const prompt = { role: "user", content: [{ type: "text", text: "Please fix it" }] };
    const result = { role: "tool", content: "here" };
    assert.match(await ask(model.url, [prompt]), /"name":"look".*"tool_calls"/s);
    assert.match(await ask(model.url, [prompt, result]), /found\\":\\"here/);
    assert.match(await ask(model.url, [prompt, result, result]), /"Done\.".*"stop".*\[DONE\]/s);
    const other = { role: "user", content: "What else?" };
    assert.match(await ask(model.url, [prompt, result, other]), /nothing to say/);
    assert.match(await (await fetch(`${model.url}/models`)).text(), /"scripted"/);
  });

  it("answers an unreadable request with an error, and goes on", async () => {
    await using model = await startScriptedModel({});
    const broken = await fetch(`${model.url}/chat/completions`, { method: "POST", body: "{" });
    assert.equal(broken.status, 500);
    assert.match(await ask(model.url, []), /nothing to say/);
  });
});

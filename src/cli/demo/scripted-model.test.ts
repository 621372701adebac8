import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type Line, startScriptedModel } from "./scripted-model.ts";

async function ask(url: string, messages: readonly object[]): Promise<string> {
  const body = JSON.stringify({ model: "scripted", stream: true, messages });
  return (await fetch(`${url}/chat/completions`, { method: "POST", body })).text();
}

describe("startScriptedModel()", () => {
  it("says the next line for its prompt, and knows what tools have answered", async () => {
    const script = (results: string[]): Line => {
      if (results.length === 2) return "Done.";
      const [found] = results;
      if (found === undefined) return { tool: "look", arguments: { at: "x" } };
      return { says: "I use it.", tool: "use", arguments: { found } };
    };
    await using model = await startScriptedModel("fix", script);
    const prompt = { role: "user", content: [{ type: "text", text: "Please fix it" }] };
    const result = { role: "tool", content: "here" };
    assert.match(await ask(model.url, [prompt]), /"name":"look".*"tool_calls"/s);
    assert.match(await ask(model.url, [prompt, result]), /I use it.*found\\":\\"here/s);
    assert.match(await ask(model.url, [prompt, result, result]), /"Done\.".*"stop".*\[DONE\]/s);
    const other = { role: "user", content: "What else?" };
    assert.match(await ask(model.url, [prompt, result, other]), /nothing to say/);
    assert.match(await (await fetch(`${model.url}/models`)).text(), /"scripted"/);
  });

  it("answers an unreadable request with an error, and goes on", async () => {
    await using model = await startScriptedModel("fix", () => "Done.");
    const broken = await fetch(`${model.url}/chat/completions`, { method: "POST", body: "{" });
    assert.equal(broken.status, 500);
    assert.match(await ask(model.url, []), /nothing to say/);
  });
});

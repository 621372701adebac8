import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Status } from "./status-line.ts";

describe("Status", () => {
  it("tells agent, model, context and time as far as they are known", () => {
    const status = new Status("trunkline");
    assert.equal(status.text(900), "trunkline · 0 s");
    status.opened({ models: { currentModelId: "openai/gpt-x" } });
    status.update({ sessionUpdate: "usage_update", used: 12_345, size: 200_000 });
    assert.equal(
      status.text(83_000, ["Run npm test"]),
      "trunkline · openai/gpt-x · 12k of 200k tokens (6 %) · 1 min 23 s · Run npm test",
    );
  });

  it("follows a change of the model, and escapes what others named", () => {
    const status = new Status("a");
    const configOptions = [{ id: "m", category: "model", currentValue: "x\n\x1b[2J" }];
    status.opened({ configOptions: [{ id: "m", category: "model", currentValue: "first" }] });
    status.update({ sessionUpdate: "config_option_update", configOptions });
    assert.equal(status.text(0), "a · x\\n\\u001b[2J · 0 s");
    status.opened(null);
    status.update({ sessionUpdate: "usage_update", used: "many", size: 0 });
    assert.equal(status.text(0), "a · x\\n\\u001b[2J · 0 s");
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { settingChoices } from "./open-session.ts";

const MODES = { currentModeId: "code", availableModes: [{ id: "code", name: "Code" }] };

describe("what a person may choose in a session", () => {
  it("is the mode and the model of an agent without options", () => {
    const models = { currentModelId: "m", availableModels: [{ modelId: "m", name: "Model M" }] };
    assert.deepEqual(settingChoices({ modes: MODES, models }), [
      {
        ...{ kind: "mode", id: "mode", name: "Mode", value: "code" },
        groups: [{ choices: [{ value: "code", name: "Code" }] }],
      },
      {
        ...{ kind: "model", id: "model", name: "Model", value: "m" },
        groups: [{ choices: [{ value: "m", name: "Model M" }] }],
      },
    ]);
  });

  it("has every option once, in lists, in groups, or on and off", () => {
    const select = { type: "select", currentValue: "code" };
    const options = [{ value: "code", name: "Code" }];
    const found = settingChoices({
      modes: MODES,
      configOptions: [
        { id: "m", name: "Mode", category: "mode", ...select, options },
        {
          ...{ id: "t", name: "Thinking", type: "select", currentValue: "low" },
          options: [{ group: "g", name: "Slow", options: [{ value: "low", name: "Low" }] }],
        },
        { id: "b", name: "Web search", type: "boolean", currentValue: true },
        { id: "x", name: "Of a later protocol", type: "slider", currentValue: 3 },
      ],
    });
    assert.deepEqual(
      found.map(({ kind, id, value }) => [kind, id, value]),
      [
        ["option", "m", "code"],
        ["option", "t", "low"],
        ["option", "b", true],
      ],
    );
    assert.deepEqual(found[1]?.groups, [
      { name: "Slow", choices: [{ value: "low", name: "Low" }] },
    ]);
  });
});

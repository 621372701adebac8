import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { chosenAfter } from "./settings.ts";

describe("chosenAfter()", () => {
  it("keeps the last choice of a mode, whether it was made as a mode or as an option", () => {
    const options = [{ id: "how", category: "mode" }, { id: "depth" }];
    const asMode = chosenAfter({}, { setting: "mode", id: "ask" }, options);
    const asOption = { setting: "option", id: "how", value: "build" } as const;
    assert.deepEqual(chosenAfter(asMode, asOption, options), { modeId: "build" });
    const deep = chosenAfter(asMode, { setting: "option", id: "depth", value: true }, options);
    assert.deepEqual(deep, { modeId: "ask", configOptions: { depth: true } });
  });
});

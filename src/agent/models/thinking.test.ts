import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { takesLevel } from "./models.ts";

describe("takesLevel()", () => {
  it("knows the models that take a level", () => {
    const yes = [
      ...["o3", "o4-mini", "gpt-5", "gpt-5.2-codex", "openai/gpt-oss-120b"],
      ...["claude-sonnet-4-5", "claude-opus-4-1-20250805", "claude-3-7-sonnet", "gemini-2.5-pro"],
    ];
    assert.deepEqual(
      yes.filter((name) => !takesLevel(name)),
      [],
    );
    const no = [
      ...["gpt-4o", "gpt-5-chat-latest", "claude-3-5-sonnet", "gemini-2.0-flash", "qwen3-coder"],
      ...["llama-o3x", "solo1"],
    ];
    assert.deepEqual(
      no.filter((name) => takesLevel(name)),
      [],
    );
  });
});

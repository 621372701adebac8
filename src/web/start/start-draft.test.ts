import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { offeredSettings, readDraft, runOf, sessionOf } from "./start-draft.ts";

const MODES = {
  modes: {
    currentModeId: "code",
    availableModes: [
      { id: "code", name: "Code" },
      { id: "ask", name: "Ask" },
    ],
  },
};
const chose = (id: string) => ({ "mode mode": { kind: "mode", id } as const });

describe("readDraft()", () => {
  it("takes what was stored, and nothing that does not have the type of a draft", () => {
    const stored = { folder: "/a", worktree: true, text: 7, settings: null, other: "x" };
    const draft = readDraft(JSON.stringify(stored));
    assert.deepEqual([draft.folder, draft.worktree], ["/a", true]);
    assert.deepEqual([draft.text, draft.settings], ["", {}]);
    assert.equal("other" in draft, false);
    for (const text of [null, "{", "null", "[]", '"x"']) {
      assert.equal(readDraft(text).what, "session", String(text));
    }
  });
});

describe("offeredSettings()", () => {
  it("shows what was chosen, unless the agent offers it no more", () => {
    const [ask] = offeredSettings(MODES, chose("ask"));
    assert.deepEqual([ask?.choice.value, ask?.body], ["ask", { kind: "mode", id: "ask" }]);
    const [gone] = offeredSettings(MODES, chose("gone"));
    assert.deepEqual([gone?.choice.value, gone?.body], ["code", undefined]);
  });
});

describe("sessionOf() and runOf()", () => {
  it("send what was typed, and leave out what was not", () => {
    const empty = readDraft(null);
    assert.deepEqual(sessionOf({ ...empty, folder: "/a", branch: "left" }, []), {
      folder: "/a",
      settings: [],
    });
    const draft = { ...empty, folder: "/a", worktree: true, text: "do it", settings: chose("ask") };
    const image = { name: "x.png", mimeType: "image/png", data: "AA==" } as const;
    assert.deepEqual(sessionOf(draft, [image], MODES), {
      ...{ folder: "/a", worktree: true, branch: "", settings: [{ kind: "mode", id: "ask" }] },
      prompt: { text: "do it", images: [{ mimeType: "image/png", data: "AA==" }] },
    });
    const run = { ...draft, repository: "r", agent: "x" };
    const sent = {
      repository: "r",
      revision: "",
      agent: "x",
      prompt: { text: "do it", images: [] },
    };
    assert.deepEqual(runOf(run, []), sent);
    assert.deepEqual(runOf({ ...run, pullRequest: true }, []), { ...sent, pullRequest: true });
  });
});

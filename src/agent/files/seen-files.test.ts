import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { call, read } from "../../../test/agent/call-tools.ts";
import { FakeLlm, type ScriptedCall } from "../../../test/agent/fake-llm.ts";
import { ALLOW } from "../../../test/agent/sample-turn.ts";

const OLD = "one\ntwo\nthree\n";
const THEIRS = "one\ntwo\nthree\nthe person's line\n";

const write = (content: string): ScriptedCall => {
  return { name: "write_file", arguments: { path: "a", content } };
};
const edit = (old_string: string, new_string: string): ScriptedCall => {
  return { name: "edit_file", arguments: { path: "a", old_string, new_string } };
};

/** A turn in which the person changes the file after the model's first answer. */
async function turnWithEdit(
  calls: readonly (readonly ScriptedCall[])[],
  mode: string,
  inEditor: boolean,
): Promise<{ text: string; answers: string; ends: unknown[] }> {
  const script = calls.map((toolCalls) => ({ toolCalls }));
  await using llm = await FakeLlm.start([...script, { content: "Done." }]);
  await using rig = new AgentRig({ llm, files: { a: OLD } });
  const session = await rig.open();
  await session.setMode?.(mode);
  let buffer = OLD;
  const fs = {
    readTextFile: async () => buffer,
    writeTextFile: async (_: string, text: string) => void (buffer = text),
  };
  let isEdited = false;
  const { turn } = await rig.turnOf(session, {
    prompt: "go",
    ...(inEditor ? { client: { fs } } : {}),
    onUpdate: ({ status }) => {
      if (status !== "completed" || isEdited) return;
      isEdited = true;
      if (inEditor) buffer = THEIRS;
      else rig.write("a", THEIRS);
    },
  });
  const last = llm.requests.at(-1)?.messages ?? [];
  return {
    text: inEditor ? buffer : rig.read("a"),
    answers: JSON.stringify(last),
    ends: turn.ends,
  };
}

describe("a person's edit", () => {
  for (const mode of ["build", "auto-accept"]) {
    for (const inEditor of [false, true]) {
      const where = inEditor ? "that is not saved in the editor" : "on disk";
      it(`${where} is not overwritten in the mode ${mode}; the model is told what changed`, async () => {
        for (const change of [write("mine\n"), edit("one", "1")]) {
          const { text, answers, ends } = await turnWithEdit(
            [[read("a")], [change]],
            mode,
            inEditor,
          );
          assert.equal(text, THEIRS);
          assert.match(
            answers,
            /has changed since it was read.*\+the person's line.*Read it again/,
          );
          assert.deepEqual(ends, ["completed", "failed"]);
        }
      });
    }
  }

  it("is kept by a model that reads it again", async () => {
    const again = [[read("a")], [edit("one", "1")], [read("a")], [edit("one", "1")]];
    const { text } = await turnWithEdit(again, "auto-accept", false);
    assert.equal(text, THEIRS.replace("one", "1"));
  });

  it("is not overwritten by a model that reads and writes in one answer, nor by one that repeats itself", async () => {
    const { text } = await turnWithEdit(
      [[read("a")], [read("a"), write("mine\n")]],
      "build",
      false,
    );
    assert.equal(text, THEIRS);
    const repeated = [[read("a")], [write("mine\n")], [write("mine\n")], [edit("two", "2")]];
    assert.equal((await turnWithEdit(repeated, "auto-accept", false)).text, THEIRS);
  });

  it("that comes while they are asked, or replaces the file, is not overwritten either", async () => {
    await call([edit("one", "1")], {
      files: { a: OLD },
      first: [read("a")],
      turn: {
        decide: ({ toolCall }) => {
          const path = (toolCall.locations as { path: string }[])[0]?.path ?? "";
          writeFileSync(`${path}.new`, THEIRS);
          renameSync(`${path}.new`, path);
          return ALLOW;
        },
      },
      check: async (rig, { answers }) => {
        assert.equal(rig.read("a"), THEIRS);
        assert.match(answers[0] ?? "", /has changed since it was read[^]*\+the person's line/);
        const { turn } = await rig.turn("/undo");
        assert.match(turn.text, /nothing to undo/);
      },
    });
  });

  it("is not lost in an editor that writes files but does not tell what it holds", async () => {
    const fs = { writeTextFile: async (): Promise<void> => assert.fail("unsaved text is lost") };
    await call([edit("one", "1")], {
      files: { a: OLD },
      turn: { client: { fs } },
      check: (rig) => assert.equal(rig.read("a"), OLD.replace("one", "1")),
    });
  });
});

describe("a file that the model has not read", () => {
  it("is written over only after it was read, all of it", async () => {
    const text = Array.from({ length: 50 }, (_, index) => `line ${index + 1}\n`).join("");
    await call([write("mine\n")], {
      files: { a: text },
      check: (rig, { answers, turn }) => {
        assert.match(answers[0] ?? "", /is there already, and you have not read it/);
        assert.equal(turn.asked.length, 0);
        assert.equal(rig.read("a"), text);
      },
    });
    const parts = [read("a", { limit: 20 }), read("a", { line: 31 })];
    const { answers } = await call([write("mine\n")], { files: { a: text }, first: parts });
    assert.match(answers[0] ?? "", /read only a part.*from line 21/);
    const rest = [...parts, read("a", { line: 15, limit: 16 })];
    await call([write("mine\n"), write("again\n")], {
      files: { a: text },
      first: rest,
      check: (rig) => assert.equal(rig.read("a"), "again\n", "what it wrote it knows"),
    });
  });

  it("can be changed where it quotes what is there", async () => {
    await call([edit("two", "2"), edit("three", "3")], {
      files: { a: OLD },
      check: (rig) => assert.equal(rig.read("a"), "one\n2\n3\n"),
    });
  });

  it("is not known to the agent because a subagent has read it", async () => {
    const task = { name: "task", arguments: { title: "t", prompt: "look" } };
    const isSub = ({ messages }: { messages: readonly Readonly<Record<string, unknown>>[] }) =>
      JSON.stringify(messages[0]).includes("You are a subagent");
    await using llm = await FakeLlm.start([
      { toolCalls: [task] },
      { when: (it) => isSub(it) && it.messages.length < 3, toolCalls: [read("a")] },
      { when: (it) => isSub(it) && it.messages.length >= 3, content: "Seen." },
      { toolCalls: [write("mine\n")] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, files: { a: OLD } });
    const { turn } = await rig.turn("explore");
    assert.deepEqual(turn.ends, ["completed", "completed", "failed"]);
    assert.equal(rig.read("a"), OLD);
  });
});

describe("a file that was removed", () => {
  it("is not created again by an edit that was meant for it", async () => {
    await call([edit("one", "1")], {
      files: { a: OLD },
      first: [read("a")],
      turn: {
        onUpdate: ({ status }) => {
          if (status === "completed") removed?.();
        },
      },
      prepare: (rig) => (removed = () => renameSync(join(rig.cwd, "a"), join(rig.cwd, "b"))),
      check: (_, { answers }) => assert.match(answers[0] ?? "", /there is no file 'a'/),
    });
  });
});

let removed: (() => void) | undefined;

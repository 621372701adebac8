import assert from "node:assert/strict";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { Log } from "../base/log.ts";
import type { SessionUpdate } from "../session/agent.ts";
import type { TurnRecording } from "../session/turn/turn-recording.ts";
import { LineTracer } from "./line-tracer.ts";
import { TurnRecorder } from "./record-turns.ts";
import { WorkHistory } from "./work-history.ts";

/** A repository in which agents of one process have turns. */
class Worked extends SampleRepository {
  readonly #log: string[] = [];
  readonly #recorder = new TurnRecorder(
    join(this.home, "data"),
    new Log("warn", (line) => this.#log.push(line)),
  );

  constructor() {
    super();
    this.put("a.txt", "of the person\n");
  }

  get history(): WorkHistory {
    const history = WorkHistory.of(join(this.home, "data"), this.path);
    assert.ok(history);
    return history;
  }

  put(path: string, text: string): void {
    this.write(`app/${path}`, text);
  }

  tryBegin(session: string): TurnRecording | undefined {
    const turn = { session, turn: "t", agent: "claude", model: "opus", folder: this.path };
    return this.#recorder.begin(turn);
  }

  async begin(session: string): Promise<TurnRecording> {
    const recording = this.tryBegin(session);
    assert.ok(recording);
    await recording.ready;
    return recording;
  }

  /** Each line, with its writer and a question mark where that is not certain. */
  async writers(path: string): Promise<string[]> {
    const lines = await new LineTracer(this.history).trace(path);
    assert.deepEqual(this.#log, []);
    return lines.map(({ text, step, certain }) => {
      return `${text}: ${step.session ?? step.by}${certain ? "" : "?"}`;
    });
  }

  /** What an agent tells of a call that changes files. */
  call(toolCallId: string, status: string, texts: Readonly<Record<string, string>> = {}) {
    const content = Object.entries(texts).map(([path, newText]) => {
      return { type: "diff", path: join(this.path, path), oldText: null, newText };
    });
    const sessionUpdate = status === "in_progress" ? "tool_call" : "tool_call_update";
    const kind = toolCallId.startsWith("edit") ? "edit" : "execute";
    return { sessionUpdate, toolCallId, status, kind, content } as SessionUpdate;
  }
}

/** Waits until a first look of a call is over: its step is there. */
async function looked(worked: Worked, path: string): Promise<void> {
  const { history } = worked;
  for (;;) {
    const tip = await history.tip();
    if (tip !== undefined && (await history.text(tip, path)) !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("TurnRecorder", () => {
  it("is certain of an edit that the agent told, and not of what is there besides", async () => {
    using worked = new Worked();
    const turn = await worked.begin("s1");
    worked.put("look.txt", "1\n");
    turn.saw(worked.call("edit1", "in_progress"));
    await looked(worked, "look.txt");
    worked.put("a.txt", "of the person\nof the agent\n");
    worked.put("b.txt", "typed in another file\n");
    turn.saw(worked.call("edit1", "completed", { "a.txt": "of the agent\n" }));
    await turn.ended();
    assert.deepEqual(await worked.writers("a.txt"), ["of the person: person", "of the agent: s1"]);
    assert.deepEqual(await worked.writers("b.txt"), ["typed in another file: person?"]);
    const next = await worked.begin("s1");
    worked.put("look2.txt", "2\n");
    next.saw(worked.call("edit2", "in_progress"));
    await looked(worked, "look2.txt");
    worked.put("a.txt", "typed meanwhile\nof the person\nof the agent\nmore\n");
    next.saw(worked.call("edit2", "completed", { "a.txt": "more\n" }));
    await next.ended();
    const [typed] = await worked.writers("a.txt");
    assert.match(typed ?? "", /^typed meanwhile: .*\?$/);
    // The agent's tool has read what was typed while the call waited, and says the whole file.
    const third = await worked.begin("s1");
    worked.put("look3.txt", "3\n");
    third.saw(worked.call("edit3", "in_progress"));
    await looked(worked, "look3.txt");
    worked.put("b.txt", "typed in another file\ntyped\nof the agent\n");
    third.saw({
      ...worked.call("edit3", "completed"),
      content: [
        {
          type: "diff",
          path: join(worked.path, "b.txt"),
          oldText: "typed in another file\ntyped\n",
          newText: "typed in another file\ntyped\nof the agent\n",
        },
      ],
    });
    await third.ended();
    assert.match((await worked.writers("b.txt"))[1] ?? "", /^typed: .*\?$/);
  });

  it("knows the files of an agent that works in a folder behind a link", async () => {
    using worked = new Worked();
    const link = join(worked.home, "behind");
    symlinkSync(worked.path, link);
    const turn = await worked.begin("s1");
    worked.put("look.txt", "1\n");
    turn.saw(worked.call("edit1", "in_progress"));
    await looked(worked, "look.txt");
    worked.put("a.txt", "of the person\nof the agent\n");
    const diff = { type: "diff", path: join(link, "a.txt"), oldText: null };
    const content = [{ ...diff, newText: "of the agent\n" }];
    turn.saw({ ...worked.call("edit1", "completed"), content });
    await turn.ended();
    assert.deepEqual(await worked.writers("a.txt"), ["of the person: person", "of the agent: s1"]);
  });

  it("is not certain of what a command wrote, which says nothing, nor of the person in a turn", async () => {
    using worked = new Worked();
    const turn = await worked.begin("s1");
    worked.put("b.txt", "before a call\n");
    turn.saw(worked.call("run1", "in_progress"));
    await looked(worked, "b.txt");
    worked.put("a.txt", "of the person\nby a command\n");
    turn.saw(worked.call("run1", "completed"));
    await turn.ended();
    assert.deepEqual(await worked.writers("a.txt"), ["of the person: person", "by a command: s1?"]);
    assert.deepEqual(await worked.writers("b.txt"), ["before a call: person?"]);
    worked.put("b.txt", "before a call\nafter the turn, by the person\n");
    assert.equal((await worked.writers("b.txt"))[1], "after the turn, by the person: person");
  });

  it("says that it is unknown who wrote what two sessions changed at once", async () => {
    using worked = new Worked();
    const [one, two] = [await worked.begin("s1"), await worked.begin("s2")];
    one.saw(worked.call("run1", "in_progress"));
    worked.put("look.txt", "1\n");
    two.saw(worked.call("run2", "in_progress"));
    await looked(worked, "look.txt");
    worked.put("a.txt", "of the person\nby one of them\n");
    one.saw(worked.call("run1", "completed"));
    two.saw(worked.call("run2", "completed"));
    await Promise.all([one.ended(), two.ended()]);
    assert.deepEqual(await worked.writers("a.txt"), [
      "of the person: person",
      "by one of them: unknown?",
    ]);
  });

  it("records nothing where the folder has gone, and the turn goes on", () => {
    using worked = new Worked();
    rmSync(worked.path, { recursive: true });
    assert.equal(worked.tryBegin("s1"), undefined);
  });
});

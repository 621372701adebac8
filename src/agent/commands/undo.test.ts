import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { read } from "../../../test/agent/call-tools.ts";
import { FakeLlm, type ScriptedCall } from "../../../test/agent/fake-llm.ts";
import { ALLOW, REJECT } from "../../../test/agent/sample-turn.ts";

const write = (path: string, content: string): ScriptedCall => ({
  name: "write_file",
  arguments: { path, content },
});
const reading = { toolCalls: [read("a.txt")] };

const script = (...toolCalls: ScriptedCall[]): Promise<FakeLlm> =>
  FakeLlm.start([reading, { toolCalls }, { content: "Done." }]);

async function changed(): Promise<{ llm: FakeLlm; rig: AgentRig } & AsyncDisposable> {
  const calls = [write("a.txt", "A1"), write("new/deep/b.txt", "B"), write("a.txt", "A2")];
  const llm = await FakeLlm.start([reading, { toolCalls: calls }, { content: "Done." }]);
  const rig = new AgentRig({ llm, files: { "a.txt": "A0" } });
  const dispose = async (): Promise<void> => {
    await rig[Symbol.asyncDispose]();
    await llm[Symbol.asyncDispose]();
  };
  return { llm, rig, [Symbol.asyncDispose]: dispose };
}

describe("/undo", () => {
  it("restores every file of the last turn, and removes files that the turn created", async () => {
    await using at = await changed();
    const session = await at.rig.open();
    await at.rig.turnOf(session, "change");
    assert.equal(at.rig.read("a.txt"), "A2");
    const { turn } = await at.rig.turnOf(session, "/undo");
    assert.equal(at.rig.read("a.txt"), "A0");
    assert.equal(existsSync(join(at.rig.cwd, "new")), false);
    assert.deepEqual(turn.ends, ["completed"]);
    assert.equal(turn.asked.length, 0);
    const { turn: again } = await at.rig.turnOf(session, "/undo");
    assert.match(again.text, /nothing to undo/);
  });

  it("is taken back by /redo, with folders and modes, as often as one likes", async () => {
    await using at = await changed();
    const session = await at.rig.open();
    await at.rig.turnOf(session, "change");
    chmodSync(join(at.rig.cwd, "a.txt"), 0o640);
    for (let round = 0; round < 2; round++) {
      await at.rig.turnOf(session, "/undo");
      assert.equal(at.rig.read("a.txt"), "A0");
      assert.equal(existsSync(join(at.rig.cwd, "new")), false);
      await at.rig.turnOf(session, "/redo");
      assert.equal(at.rig.read("a.txt"), "A2");
      assert.equal(at.rig.read("new/deep/b.txt"), "B");
    }
    assert.equal(statSync(join(at.rig.cwd, "a.txt")).mode & 0o777, 0o640);
    const { turn } = await at.rig.turnOf(session, "/redo");
    assert.match(turn.text, /nothing to redo/);
  });

  it("is not taken back over what a person has written since, nor after another turn", async () => {
    const edits = { toolCalls: [write("c.txt", "C")] };
    const done = { content: "Done." };
    const steps = [reading, { toolCalls: [write("a.txt", "A1")] }, done, edits, done];
    await using llm = await FakeLlm.start(steps);
    await using rig = new AgentRig({ llm, files: { "a.txt": "A0" } });
    const session = await rig.open();
    await rig.turnOf(session, "change");
    await rig.turnOf(session, "/undo");
    rig.write("a.txt", "mine");
    const { turn } = await rig.turnOf(session, "/redo");
    assert.match(turn.text, /Not restored.*a\.txt.*`\/redo force`/s);
    assert.equal(rig.read("a.txt"), "mine");
    await rig.turnOf(session, "other");
    assert.equal(rig.read("c.txt"), "C");
    const { turn: late } = await rig.turnOf(session, "/redo");
    assert.match(late.text, /nothing to redo/);
    assert.equal(rig.read("a.txt"), "mine");
  });

  it("works after a restart", async () => {
    await using at = await changed();
    await at.rig.turn("change");
    await using other = new AgentRig({ data: at.rig.data });
    const session = await other.open({ cwd: at.rig.cwd });
    await other.turnOf(session, "/undo");
    assert.equal(at.rig.read("a.txt"), "A0");
  });

  it("leaves files alone that were changed since, unless it is forced", async () => {
    await using at = await changed();
    const session = await at.rig.open();
    await at.rig.turnOf(session, "change");
    at.rig.write("a.txt", "mine");
    const { turn } = await at.rig.turnOf(session, "/undo");
    assert.equal(at.rig.read("a.txt"), "mine");
    assert.match(turn.text, /Not restored.*a\.txt/s);
    assert.equal(existsSync(join(at.rig.cwd, "new")), false);
    await at.rig.turnOf(session, "/undo force");
    assert.equal(at.rig.read("a.txt"), "A0");
  });

  it("goes back one turn at a time", async () => {
    const llm = await FakeLlm.start([
      reading,
      { toolCalls: [write("a.txt", "A1")] },
      { content: "One." },
      { toolCalls: [write("a.txt", "A2")] },
      { content: "Two." },
    ]);
    await using _ = llm;
    await using rig = new AgentRig({ llm, files: { "a.txt": "A0" } });
    const session = await rig.open();
    await rig.turnOf(session, "one");
    await rig.turnOf(session, "two");
    await rig.turnOf(session, "/undo");
    assert.equal(rig.read("a.txt"), "A1");
    await rig.turnOf(session, "/undo");
    assert.equal(rig.read("a.txt"), "A0");
  });

  it("restores text that was not saved in the editor", async () => {
    await using at = await changed();
    const buffers = new Map([[`${at.rig.cwd}/a.txt`, "unsaved"]]);
    const fs = {
      readTextFile: async (path: string) => {
        const text = buffers.get(path);
        if (text === undefined) throw new Error("no such buffer");
        return text;
      },
      writeTextFile: async (path: string, text: string) => void buffers.set(path, text),
    };
    const session = await at.rig.open();
    await at.rig.turnOf(session, { prompt: "change", client: { fs } });
    assert.equal(buffers.get(`${at.rig.cwd}/a.txt`), "A2");
    assert.equal(at.rig.read("a.txt"), "A0", "the editor has not saved it");
    await at.rig.turnOf(session, { prompt: "/undo", client: { fs } });
    assert.equal(buffers.get(`${at.rig.cwd}/a.txt`), "unsaved");
  });

  it("restores files of a repository that a command changed", async () => {
    const command = "echo 2 > tracked; echo 2 > dirty; rm gone; echo new > made; exit 1";
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "run_command", arguments: { command } }] },
      { content: "Done." },
    ]);
    const files = { tracked: "1\n", dirty: "0\n", gone: "here\n", same: "same\n" };
    await using rig = new AgentRig({ llm, files });
    rig.commitAll();
    rig.write("dirty", "1\n");
    const session = await rig.open();
    await rig.turnOf(session, "go");
    assert.match(rig.git("status", "--short"), /D gone[^]*M tracked[^]*\?\? made/);
    await rig.turnOf(session, "/undo");
    assert.equal(rig.git("status", "--short"), " M dirty\n");
    assert.equal(rig.read("dirty"), "1\n");
  });

  it("restores files that a command has replaced by links and folders", async () => {
    const command =
      "rm a b c d l; ln -s /etc/hostname a; ln -s same b; mkdir c; mkdir -p d/e; echo x > d/e/f; echo l > l";
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "run_command", arguments: { command } }] },
      { content: "Done." },
    ]);
    const files = { a: "a\n", b: "b\n", c: "c\n", d: "d\n", same: "same\n" };
    await using rig = new AgentRig({ llm, files });
    symlinkSync("same", join(rig.cwd, "l"));
    rig.commitAll();
    rig.write("b", "b2\n");
    const session = await rig.open();
    await rig.turnOf(session, "go");
    const { turn } = await rig.turnOf(session, "/undo");
    assert.equal(rig.git("status", "--short"), " M b\n T l\n", turn.text);
    assert.equal(rig.read("b"), "b2\n");
    assert.equal(rig.read("same"), "same\n");
    assert.equal(rig.read("l"), "l\n", "a link is not restored as a file");
  });

  it("removes nothing that a link above a file leads to", async () => {
    await using llm = await script(write("sub/b.txt", "B"));
    await using rig = new AgentRig({ llm, files: { "a.txt": "A" } });
    const session = await rig.open();
    await rig.turnOf(session, "go");
    const outside = join(rig.folder, "outside");
    mkdirSync(outside);
    symlinkSync("there", join(outside, "b.txt"));
    rmSync(join(rig.cwd, "sub"), { recursive: true });
    symlinkSync(outside, join(rig.cwd, "sub"));
    const { turn } = await rig.turnOf(session, "/undo force");
    assert.match(turn.text, /Not restored: sub\/b\.txt: .*leads out of the workspace/);
    assert.deepEqual(readdirSync(outside), ["b.txt"]);
  });

  it("leaves files with a git filter alone, because no filter is run to read them", async () => {
    const command = "echo 2 > a.big; echo 2 > plain";
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "run_command", arguments: { command } }] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({
      llm,
      files: { "a.big": "1\n", plain: "1\n", ".gitattributes": "*.big filter=big\n" },
    });
    rig.git("init", "-q");
    rig.git("config", "filter.big.clean", "touch ran; echo pointer");
    rig.git("config", "filter.big.smudge", "touch ran; echo 1");
    // Git looks into files that are as young as its index.
    utimesSync(join(rig.cwd, "a.big"), 1, 1);
    rig.commitAll();
    rmSync(join(rig.cwd, "ran"), { force: true });
    const session = await rig.open();
    await rig.turnOf(session, "go");
    await rig.turnOf(session, "/undo");
    assert.equal(rig.read("plain"), "1\n");
    assert.equal(rig.read("a.big"), "2\n");
    assert.ok(!existsSync(join(rig.cwd, "ran")));
  });

  it("restores the executable bit", async () => {
    const command = "rm tracked.sh untracked.sh; echo 2 > plain; chmod -x kept.sh";
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "run_command", arguments: { command } }] },
      { content: "Done." },
    ]);
    const files = { "tracked.sh": "1\n", "kept.sh": "1\n", plain: "1\n" };
    await using rig = new AgentRig({ llm, files });
    const modeOf = (name: string): number => statSync(join(rig.cwd, name)).mode & 0o777;
    for (const name of ["tracked.sh", "kept.sh"]) chmodSync(join(rig.cwd, name), 0o755);
    rig.commitAll();
    rig.write("untracked.sh", "1\n");
    chmodSync(join(rig.cwd, "untracked.sh"), 0o750);
    const session = await rig.open();
    await rig.turnOf(session, "go");
    assert.equal(modeOf("kept.sh") & 0o100, 0);
    // The editor makes files as editors do; none of them can be run.
    const fs = {
      writeTextFile: async (path: string, text: string) => writeFileSync(path, text),
    };
    await rig.turnOf(session, { prompt: "/undo", client: { fs } });
    assert.equal(modeOf("tracked.sh"), 0o755);
    assert.equal(modeOf("untracked.sh"), 0o750);
    assert.equal(modeOf("kept.sh"), 0o755);
    assert.equal(modeOf("plain"), 0o644);
    assert.equal(rig.git("status", "--short"), "?? untracked.sh\n");
  });

  it("asks before it reverts what a person may have saved while a command ran", async () => {
    const command = "echo theirs > mine; echo 2 > other";
    await using llm = await FakeLlm.start([
      { toolCalls: [write("plain", "2\n"), { name: "run_command", arguments: { command } }] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, files: { mine: "1\n", other: "1\n", plain: "1\n" } });
    rig.commitAll();
    const session = await rig.open();
    await rig.turnOf(session, "go");
    const refused = await rig.turnOf(session, { prompt: "/undo", decide: () => REJECT });
    const [asked] = refused.turn.asked;
    assert.match(String(asked?.toolCall.title), /others than the agent.*mine, other/);
    const diffs = asked?.toolCall.content as { oldText: string; newText: string }[];
    assert.deepEqual([diffs[0]?.oldText, diffs[0]?.newText], ["theirs\n", "1\n"]);
    assert.ok(asked?.options.every(({ kind }) => kind !== "allow_always"));
    assert.deepEqual(
      ["mine", "other", "plain"].map((name) => rig.read(name)),
      ["theirs\n", "2\n", "1\n"],
    );
    assert.match(refused.turn.text, /Not restored.*mine, other/s);
    await rig.turnOf(session, { prompt: "/undo force", decide: () => assert.fail("it was asked") });
    assert.equal(rig.read("mine"), "1\n");
  });

  it("asks before it reverts what was changed between two writes of the turn", async () => {
    await using llm = await FakeLlm.start([
      reading,
      { toolCalls: [write("a.txt", "A1")] },
      reading,
      { toolCalls: [write("a.txt", "A2, with what the person wrote")] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "A0" } });
    const session = await rig.open();
    let ended = 0;
    await rig.turnOf(session, {
      prompt: "go",
      onUpdate: ({ status }) => {
        if (status === "completed" && ++ended === 2) rig.write("a.txt", "what the person wrote");
      },
    });
    assert.equal(rig.read("a.txt"), "A2, with what the person wrote");
    const { turn } = await rig.turnOf(session, { prompt: "/undo", decide: () => ALLOW });
    assert.equal(turn.asked.length, 1);
    assert.equal(rig.read("a.txt"), "A0");
  });

  it("leaves files alone if it does not know that the agent changed them", async () => {
    await using at = await changed();
    const session = await at.rig.open();
    await at.rig.turnOf(session, "change");
    // As after a crash between the change and the word about it.
    const [id = ""] = readdirSync(join(at.rig.data, "undo"));
    const [turn = ""] = readdirSync(join(at.rig.data, "undo", id));
    const file = join(at.rig.data, "undo", id, turn, "turn.jsonl");
    const lines = readFileSync(file, "utf8").split("\n");
    writeFileSync(file, lines.filter((line) => !line.includes('"after"')).join("\n"));
    at.rig.write("a.txt", "mine");
    const { turn: undone } = await at.rig.turnOf(session, "/undo");
    assert.equal(at.rig.read("a.txt"), "mine");
    assert.match(undone.text, /Not restored.*a\.txt/s);
  });

  it("compares with the disk as well as with the editor", async () => {
    await using at = await changed();
    const path = join(at.rig.cwd, "a.txt");
    const session = await at.rig.open();
    await at.rig.turnOf(session, "change");
    // Saved by another program; the editor still has what the agent wrote.
    at.rig.write("a.txt", "mine");
    const fs = {
      readTextFile: async (asked: string) => (asked === path ? "A2" : readFileSync(asked, "utf8")),
      writeTextFile: async (asked: string, text: string) => writeFileSync(asked, text),
    };
    const { turn } = await at.rig.turnOf(session, { prompt: "/undo", client: { fs } });
    assert.equal(at.rig.read("a.txt"), "mine");
    assert.match(turn.text, /Not restored.*a\.txt/s);
  });

  it("names the commands that ran in the turn", async () => {
    const command = "echo hello";
    await using llm = await FakeLlm.start([
      reading,
      { toolCalls: [write("a.txt", "A1"), { name: "run_command", arguments: { command } }] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "A0" } });
    const session = await rig.open();
    await rig.turnOf(session, "go");
    const { turn } = await rig.turnOf(session, "/undo");
    assert.match(turn.text, /not undone:\n- `echo hello`/);
  });

  it("restores a file in whose place a link stands, and not the file that the link leads to", async () => {
    await using llm = await script(write("a.txt", "two\n"));
    await using rig = new AgentRig({ llm, files: { "a.txt": "one\n", "e.txt": "mine\n" } });
    const session = await rig.open();
    await rig.turnOf(session, "go");
    rmSync(join(rig.cwd, "a.txt"));
    symlinkSync("e.txt", join(rig.cwd, "a.txt"));
    const { turn } = await rig.turnOf(session, "/undo");
    assert.match(turn.text, /Not restored, since they were changed since: a\.txt\./);
    assert.match((await rig.turnOf(session, "/undo force")).turn.text, /Restored: a\.txt\./);
    assert.equal(rig.read("a.txt"), "one\n");
    assert.equal(rig.read("e.txt"), "mine\n");
    assert.equal(lstatSync(join(rig.cwd, "a.txt")).isFile(), true);
  });

  it("restores the other files where a folder stands in the place of one", async () => {
    await using llm = await script(write("a.txt", "two\n"), write("new.txt", "n\n"));
    await using rig = new AgentRig({ llm, files: { "a.txt": "one\n" } });
    const session = await rig.open();
    await rig.turnOf(session, "go");
    rmSync(join(rig.cwd, "new.txt"));
    mkdirSync(join(rig.cwd, "new.txt"));
    const { turn } = await rig.turnOf(session, "/undo");
    assert.match(turn.text, /Restored: a\.txt\.[^]*changed since: new\.txt/);
    assert.equal(rig.read("a.txt"), "one\n");
    const forced = await rig.turnOf(session, "/undo force");
    assert.match(forced.turn.text, /no file has taken the place of 'new\.txt'/);
  });
});

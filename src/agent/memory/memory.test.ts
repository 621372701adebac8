import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig, type AgentRigOptions } from "../../../test/agent/agent-rig.ts";
import { call } from "../../../test/agent/call-tools.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { ALLOW, REJECT } from "../../../test/agent/sample-turn.ts";

const NOTES = ".trunkline/memory.md";
const remember = (note: string, scope?: string) => ({
  name: "remember",
  arguments: { note, ...(scope === undefined ? {} : { scope }) },
});

/** A folder of the user, as it is before there are any notes. */
function userFolder(): Disposable & { readonly memoryFile: string } {
  const folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-user-"));
  const memoryFile = join(folder.path, "trunkline/memory.md");
  return { memoryFile, [Symbol.dispose]: () => folder.remove() };
}

describe("what a person asks to be remembered", () => {
  it("is noted in a file of the project, once they have seen the change, and told to later sessions", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [remember("Tests run with `make check`.")] },
      { content: "Noted." },
      { content: "With make check." },
      { content: "Again." },
    ]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    await session.setMode?.("auto-accept");
    const { turn } = await rig.turnOf(session, "remember that tests run with make check");
    assert.equal(rig.read(NOTES), "# Memory\n\n- Tests run with `make check`.\n");
    assert.equal(turn.asked.length, 1, "also where plain edits are accepted");
    const [shown] = (turn.asked[0]?.toolCall.content ?? []) as {
      type: string;
      newText: string;
    }[];
    assert.deepEqual([shown?.type, shown?.newText], ["diff", rig.read(NOTES)]);
    assert.doesNotMatch(String(llm.requests[0]?.messages[0]?.content), /make check/);
    await rig.turn("how are tests run?");
    const system = String(llm.requests[2]?.messages[0]?.content);
    assert.match(
      system,
      /The project's \.trunkline\/memory\.md[^]*- Tests run with `make check`\./,
    );
    await rig.turnOf(session, "again");
    assert.equal(
      llm.requests[3]?.messages[0]?.content,
      llm.requests[0]?.messages[0]?.content,
      "a session reads them once",
    );
  });

  it("is not noted if they refuse, or if it holds a hidden secret", async () => {
    const options = { turn: { prompt: "remember it", decide: () => REJECT } };
    const { answers, turn } = await call([remember("a"), remember("the key is •••")], {
      ...options,
      check: (rig) => assert.ok(!existsSync(join(rig.cwd, NOTES))),
    });
    assert.match(answers[0] ?? "", /did not allow it/);
    assert.match(answers[1] ?? "", /no hidden secret/);
    assert.equal(turn.asked.length, 1);
  });

  it("is added to what they have written themselves, also while they are asked", async () => {
    const files = { [NOTES]: "My own words,\nwithout a line end" };
    const prompt = "remember it";
    await call([remember("one\n\n  two")], {
      files,
      turn: { prompt },
      check: (rig) => {
        assert.equal(rig.read(NOTES), "My own words,\nwithout a line end\n- one\n  two\n");
      },
    });
    await using llm = await FakeLlm.start([{ toolCalls: [remember("a")] }, { content: "Done." }]);
    await using rig = new AgentRig({ llm, files });
    const decide = () => {
      appendFileSync(join(rig.cwd, NOTES), "\nmore words\n");
      return ALLOW;
    };
    const { turn } = await rig.turn({ prompt, decide });
    assert.equal(rig.read(NOTES), "My own words,\nwithout a line end\nmore words\n");
    assert.deepEqual(turn.ends, ["failed"]);
    assert.match(llm.seen(), /has changed since it was read/);
  });

  it("for all projects is in the user's folder, asked by nobody but a person, and known everywhere", async () => {
    using user = userFolder();
    const { memoryFile } = user;
    await using llm = await FakeLlm.start([
      { toolCalls: [remember("I like tabs.", "all")] },
      { content: "Noted." },
      { content: "Tabs." },
    ]);
    await using one = new AgentRig({ llm, memoryFile });
    const { turn } = await one.turn("remember everywhere that I like tabs");
    assert.equal(readFileSync(memoryFile, "utf8"), "# Memory\n\n- I like tabs.\n");
    const [asked] = turn.asked;
    assert.deepEqual(asked?._meta, { trunkline: { needsPerson: true } });
    assert.equal(asked?.subject, undefined, "'always' is not offered");
    await using other = new AgentRig({ llm, memoryFile });
    await other.turn("tabs or blanks?");
    assert.match(llm.seen(2), /asked you to remember, for all projects:[^]*I like tabs\./);
  });

  it("for all projects is not lost if they edit it meanwhile, and follows a link of theirs", async () => {
    using user = userFolder();
    const { memoryFile } = user;
    const place = join(dirname(dirname(memoryFile)), "dotfiles.md");
    writeFileSync(place, "mine\n");
    mkdirSync(dirname(memoryFile));
    symlinkSync(place, memoryFile);
    const prompt = "remember it";
    const options: AgentRigOptions = { memoryFile };
    await call([remember("a", "all")], { ...options, turn: { prompt } });
    assert.equal(readFileSync(place, "utf8"), "mine\n- a\n");
    const decide = () => {
      writeFileSync(place, "rewritten\n");
      return ALLOW;
    };
    const { answers } = await call([remember("b", "all")], {
      ...options,
      turn: { prompt, decide },
    });
    assert.match(answers[0] ?? "", /was changed meanwhile/);
    assert.equal(readFileSync(place, "utf8"), "rewritten\n");
  });

  it("for all projects is nobody else's: neither told nor noted", async () => {
    using user = userFolder();
    const { memoryFile } = user;
    mkdirSync(dirname(memoryFile));
    writeFileSync(memoryFile, "I like tabs.\n");
    await using llm = await FakeLlm.start([
      { toolCalls: [remember("x", "all")] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, memoryFile });
    await rig.turnOf(await rig.open({ owner: "guest" }), "remember it");
    assert.doesNotMatch(llm.seen(), /I like tabs/);
    assert.match(llm.seen(), /Only the owner of this machine/);
    assert.equal(readFileSync(memoryFile, "utf8"), "I like tabs.\n");
  });

  it("is told in part if it is long, the last notes, and without what looks like a secret", async () => {
    const key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    const text = `${"- an old note\n".repeat(2_000)}- the token is ${key}\n- the last note\n`;
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using rig = new AgentRig({ llm, files: { [NOTES]: text } });
    await rig.turn("hi");
    const system = String(llm.requests[0]?.messages[0]?.content);
    assert.match(system, /without the first \d+ characters[^]*- the last note/);
    assert.ok(system.length < 20_000);
    assert.doesNotMatch(system, new RegExp(key));
  });

  it("is not read through a link out of the project", async () => {
    using user = userFolder();
    mkdirSync(dirname(user.memoryFile));
    writeFileSync(user.memoryFile, "s3cret of another project");
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using rig = new AgentRig({ llm });
    mkdirSync(join(rig.cwd, ".trunkline"));
    symlinkSync(user.memoryFile, join(rig.cwd, NOTES));
    await rig.turn("hi");
    assert.doesNotMatch(llm.seen(), /s3cret/);
  });
});

describe("/remember and /memory", () => {
  it("note something without a model, and show what and where", async () => {
    using user = userFolder();
    await using rig = new AgentRig({ memoryFile: user.memoryFile });
    const session = await rig.open();
    const say = async (prompt: string) => (await rig.turnOf(session, prompt)).turn;
    const { text, asked } = await say("/remember Use pnpm");
    assert.match(text, /Created \.trunkline\/memory\.md/);
    assert.equal(asked.length, 1);
    await say("/remember --all I like tabs.");
    assert.equal(readFileSync(user.memoryFile, "utf8"), "# Memory\n\n- I like tabs.\n");
    assert.match((await say("/remember")).text, /Say what to remember/);
    const shown = (await say("/memory")).text;
    assert.match(shown, /In this project \(`\.trunkline\/memory\.md`\):[^]*- Use pnpm/);
    assert.ok(shown.includes(`In all projects (\`${user.memoryFile}\`)`));
    assert.match(shown, /- I like tabs\./);
    await say("/undo");
    assert.ok(!existsSync(join(rig.cwd, NOTES)), "the last change in the project");
  });
});

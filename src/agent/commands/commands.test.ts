import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Packages } from "../../../test/support/packages.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { REJECT } from "../../../test/agent/sample-turn.ts";
import { typedText } from "../turn/prompt-message.ts";
import type { ReviewComments } from "./slash-command.ts";

describe("without a language model", () => {
  it("free text gets what can be done, and how to have a model", async () => {
    await using rig = new AgentRig();
    const { turn, end } = await rig.turn("please fix my code");
    assert.equal(end.stopReason, "end_turn");
    assert.match(turn.text, /without a language model/);
    assert.match(turn.text, /`\/fix-comments \[ID …\]`/);
    assert.match(turn.text, /ANTHROPIC_API_KEY/);
  });

  it("commands are told when a session opens", async () => {
    await using rig = new AgentRig();
    await rig.open();
    const [update] = rig.updates;
    assert.equal(update?.sessionUpdate, "available_commands_update");
    const names = ((update?.availableCommands ?? []) as { name: string }[]).map(({ name }) => name);
    for (const name of ["fix-comments", "search", "rewrite", "review", "test", "format", "init"]) {
      assert.ok(names.includes(name), name);
    }
    for (const name of ["diff", "commit", "undo", "help"]) assert.ok(names.includes(name), name);
  });

  it("an unknown command is explained, a path is no command", async () => {
    await using rig = new AgentRig();
    const { turn } = await rig.turn("/serach foo");
    assert.match(turn.text, /There is no command `\/serach`. Did you mean `\/search`\?/);
    const { turn: path } = await rig.turn("/usr/bin/env is what?");
    assert.match(path.text, /cannot understand free text/);
  });

  it("a command is what was typed, without what the client adds", () => {
    const text = (words: string) => ({ type: "text", text: words });
    const mention = { type: "resource_link", uri: "file:///a", name: "a" };
    assert.equal(typedText([text("/search one"), text("<time>now</time>")]), "/search one");
    assert.equal(typedText([text("/commit see"), mention, text("too")]), "/commit see\ntoo");
    assert.equal(typedText([]), "");
  });
});

describe("/search", () => {
  it("finds text, with locations, in what git does not ignore", async () => {
    const files = {
      "src/a.ts": "const Foo = 1;\nfoo();\n",
      "b.log": "foo\n",
      ".gitignore": "*.log\n",
    };
    await using rig = new AgentRig({ files });
    rig.commitAll();
    const { turn } = await rig.turn("/search foo");
    assert.match(turn.text, /src\/a\.ts:1: const Foo = 1;\nsrc\/a\.ts:2: foo\(\);/);
    assert.doesNotMatch(turn.text, /b\.log/);
    const done = turn.ofKind("tool_call_update").at(-1);
    assert.deepEqual(((done?.locations ?? []) as { line: number }[])[1], {
      path: `${rig.cwd}/src/a.ts`,
      line: 2,
    });
  });

  it("takes expressions, says when one is wrong, and finds words that stand apart", async () => {
    await using rig = new AgentRig({
      files: { "a.txt": "the quick\nbrown fox\n", "b.txt": "quick\n" },
    });
    assert.match((await rig.turn("/search /q.i+ck/")).turn.text, /a\.txt:1/);
    assert.match((await rig.turn("/search /(/")).turn.text, /Cannot search for '\('/);
    const { turn } = await rig.turn("/search fox quick");
    assert.match(turn.text, /^```\na\.txt:1/);
    assert.match((await rig.turn("/search nowhere")).turn.text, /Nothing found/);
    assert.match((await rig.turn("/search")).turn.text, /Say what to find/);
  });
});

describe("/diff and /commit", () => {
  it("show and commit what has changed", async () => {
    await using rig = new AgentRig({ files: { "a.txt": "one\n", "sub/b.txt": "b\n" } });
    rig.commitAll();
    rig.write("a.txt", "two\n");
    rig.write("new.txt", "n\n");
    const session = await rig.open();
    const { turn: shown } = await rig.turnOf(session, "/diff");
    assert.match(shown.text, /M a\.txt\n\?\? new\.txt/);
    const content = shown.ofKind("tool_call_update").at(-1)?.content as {
      oldText: string | null;
    }[];
    assert.deepEqual(
      content.map(({ oldText }) => oldText),
      ["one\n", null],
    );
    const { turn } = await rig.turnOf(session, "/commit Count further");
    assert.match(String(turn.asked[0]?.toolCall.title), /a\.txt and new\.txt: Count further/);
    assert.equal(rig.git("log", "-1", "--format=%s").trim(), "Count further");
    assert.equal(rig.git("status", "--short"), "");
    assert.match((await rig.turnOf(session, "/commit")).turn.text, /nothing to commit/);
    assert.match((await rig.turnOf(session, "/diff")).turn.text, /Nothing has changed/);
  });

  it("commit only what is staged where something is, and nothing that is refused", async () => {
    await using rig = new AgentRig({ files: { "a.txt": "one\n", "b.txt": "one\n" } });
    rig.commitAll();
    rig.write("a.txt", "two\n");
    rig.write("b.txt", "two\n");
    rig.git("add", "a.txt");
    await rig.turn({ prompt: "/commit no", decide: () => REJECT });
    assert.equal(rig.git("log", "--format=%s").trim(), "start");
    await rig.turn("/commit");
    assert.equal(rig.git("log", "-1", "--format=%s").trim(), "Change a.txt");
    assert.equal(rig.git("status", "--short").trim(), "M b.txt");
  });

  it("say so outside of a repository", async () => {
    await using rig = new AgentRig();
    for (const command of ["/diff", "/commit", "/review"]) {
      const { turn } = await rig.turn(command);
      assert.match(turn.text, /not in a git repository. `git init` makes it one/, command);
    }
  });
});

describe("/test and /format", () => {
  it("run what the project says, once it is allowed", async () => {
    const scripts = { test: "echo tested; exit 3", format: "echo formatted > out.txt" };
    await using rig = new AgentRig({ files: { "package.json": JSON.stringify({ scripts }) } });
    const { turn } = await rig.turn("/test");
    assert.equal(turn.asked[0]?.subject, "run npm test");
    assert.match(turn.text, /tested/);
    assert.match(turn.text, /exit code 3/);
    assert.deepEqual(turn.ends, ["failed"]);
    await rig.turn({ prompt: "/format", decide: () => REJECT });
    assert.equal(existsSync(join(rig.cwd, "out.txt")), false);
    await rig.turn("/format");
    assert.equal(rig.read("out.txt"), "formatted\n");
  });

  it("say when nobody knows how", async () => {
    await using rig = new AgentRig({ files: { "package.json": "{ broken" } });
    assert.match((await rig.turn("/test")).turn.text, /do not know how to test/);
  });
});

describe("/init", () => {
  it("writes down what is certain, and leaves a file alone that is there", async () => {
    await using rig = new AgentRig({ files: { Makefile: "test:\n\ttrue\n", "src/a.c": "" } });
    const session = await rig.open();
    await rig.turnOf(session, "/init");
    assert.match(rig.read("AGENTS.md"), /- Test: `make test`/);
    assert.match(rig.read("AGENTS.md"), /- `src\/`/);
    assert.match((await rig.turnOf(session, "/init")).turn.text, /already/);
  });
});

describe("/review", () => {
  it("complains of what people do not mean to commit", async () => {
    await using rig = new AgentRig({ files: { "a.ts": "const a = 1;\n" } });
    rig.commitAll();
    rig.write("a.ts", "const a = 1;\nconsole.log(a);\n");
    rig.write("b.ts", `// FIXME\nconst token = "ghp_${"a1".repeat(18)}";\n`);
    const { turn } = await rig.turn("/review");
    assert.match(turn.text, /a\.ts:2: a trace of debugging/);
    assert.match(turn.text, /b\.ts:1: work that is left/);
    assert.match(turn.text, /b\.ts:2: what looks like a secret/);
    assert.doesNotMatch(turn.text, /a\.ts:1:/);
  });
});

describe("/fix-comments", () => {
  it("applies suggestions, and says of each comment what became of it", async () => {
    await using rig = new AgentRig({ files: { "a.ts": "let a = 1;\n" } });
    const path = join(rig.cwd, "a.ts");
    const done: string[] = [];
    const reviews: ReviewComments = {
      open: async () => [
        { id: "r1", path, line: 1, comment: "use const", hasSuggestion: true },
        { id: "r2", path, line: 1, comment: "why?", hasSuggestion: false },
        { id: "r3", path, comment: "gone", hasSuggestion: true },
      ],
      suggested: async (_, id) => {
        if (id === "r3") throw new Error("the lines are gone");
        return { path, text: "const a = 1;\n" };
      },
      done: async (_, id) => void done.push(id),
    };
    await using agent = new AgentRig({ reviews, data: rig.data });
    const session = await agent.open({ cwd: rig.cwd });
    const { turn } = await agent.turnOf(session, "/fix-comments");
    assert.equal(rig.read("a.ts"), "const a = 1;\n");
    assert.match(turn.text, /Applied 1 of 3\./);
    assert.match(turn.text, /Not applied: why\? \(r2\): it has no suggestion/);
    assert.match(turn.text, /Not applied: gone \(r3\): .*the lines are gone/);
    assert.deepEqual(done, ["r1"]);
    const plans = turn.ofKind("plan").map(({ entries }) => entries as { status: string }[]);
    assert.deepEqual(
      plans.at(-1)?.map(({ status }) => status),
      ["completed", "completed", "completed"],
    );
    await agent.turnOf(session, "/undo");
    assert.equal(rig.read("a.ts"), "let a = 1;\n");
  });
});

describe("/rewrite", () => {
  it("says how to get what it needs", async () => {
    await using rig = new AgentRig();
    const { turn } = await rig.turn("/rewrite foo($A) => bar($A)");
    assert.match(turn.text, /npm install --prefix '.*packages' @ast-grep\/napi@/);
    assert.match((await rig.turn("/rewrite nonsense")).turn.text, /Say what to rewrite/);
  });

  it("rewrites code by its structure", async () => {
    const packages = new Packages("test/agent");
    await packages.install();
    const files = {
      "a.ts": 'log(1);\n// log(2)\nlog("x", f(3), 4);\nlog();\n',
      "node_modules/x/a.ts": "log(1);\n",
      "b.txt": "log(1);\n",
    };
    await using rig = new AgentRig({ files });
    const folder = join(rig.data, "packages/node_modules");
    mkdirSync(folder, { recursive: true });
    cpSync(packages.path("@ast-grep"), join(folder, "@ast-grep"), { recursive: true });
    const { turn } = await rig.turn("/rewrite log($A, $$$REST) => info([$$$REST], $A)");
    assert.equal(rig.read("a.ts"), 'log(1);\n// log(2)\ninfo([f(3), 4], "x");\nlog();\n');
    assert.match(turn.text, /Rewrote 1 places/);
    await rig.turn("/rewrite log($A) => info($A) --in *.ts");
    assert.equal(rig.read("a.ts").split("\n")[0], "info(1);");
    assert.equal(rig.read("node_modules/x/a.ts"), "log(1);\n");
    assert.match((await rig.turn("/rewrite nope($A) => x")).turn.text, /Nothing fits/);
  });
});

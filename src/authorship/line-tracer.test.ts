// Long: histories of repositories are made and read.
import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { countLines } from "./count-lines.ts";
import { LineTracer } from "./line-tracer.ts";
import { WorkHistory, type WorkStep } from "./work-history.ts";

const FIRST = "import one from 'one';\n\nexport function first() {\n  return one;\n}\n";
const ADDED = "\nexport function added(value) {\n  return one.doubled(value, 2);\n}\n";

/** Somebody else, an hour ago. */
const BOB = {
  GIT_AUTHOR_NAME: "Bob",
  GIT_AUTHOR_DATE: new Date(Date.now() - 3_600_000).toISOString(),
  GIT_COMMITTER_DATE: new Date(Date.now() - 3_600_000).toISOString(),
};

function stepOf(session: string): WorkStep {
  return { by: "agent", session, turn: "t", call: "c", agent: "claude" };
}

/** A repository with one commit, in which agents work and are recorded. */
class Recorded extends SampleRepository {
  constructor() {
    super();
    super.write(".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n");
    this.write("a.ts", FIRST);
    this.save("First", BOB);
  }

  get history(): WorkHistory {
    const history = WorkHistory.of(join(this.home, "data"), this.path);
    assert.ok(history);
    return history;
  }

  override write(path: string, text: string): string {
    return super.write(`app/${path}`, text);
  }

  /** Commits everything; what git says may be of some other time. */
  save(message: string, env: NodeJS.ProcessEnv = {}): string {
    this.run("add", "--all");
    this.runWith(this.path, env, "commit", "--quiet", "--message", message);
    return this.run("rev-parse", "HEAD").trim();
  }

  /** Has an agent write a file, and tell of it, between two looks at the files. */
  async work(session: string, path: string, newText: string): Promise<void> {
    await this.history.record({ by: "person" });
    this.write(path, newText);
    await this.history.record({ ...stepOf(session), told: { [path]: newText.split("\n") } });
  }

  /** Has an agent do what it tells nothing of, such as a command. */
  async command(session: string, work: () => unknown): Promise<void> {
    await this.history.record({ by: "person" });
    const since = Date.now();
    work();
    await this.history.record({ ...stepOf(session), since });
  }

  /** Each line's session or "-", with a question mark where that is not certain. */
  async sessions(path: string, commit?: string): Promise<string> {
    const lines = await new LineTracer(this.history).trace(path, { commit });
    return lines
      .filter(({ text }) => text.trim() !== "")
      .map(({ step, certain }) => (step.session ?? "-") + (certain ? "" : "?"))
      .join(" ");
  }
}

describe("LineTracer", () => {
  it("knows who wrote each line, before and after the person commits it", async () => {
    using repository = new Recorded();
    await repository.work("s1", "a.ts", FIRST + ADDED);
    assert.equal(await repository.sessions("a.ts"), "- - - - s1 s1 s1");
    repository.write("a.ts", `// mine\n${FIRST}${ADDED}`);
    assert.equal(await repository.sessions("a.ts"), "- - - - - s1 s1 s1");
    repository.save("Second");
    await repository.work("s2", "a.ts", `// mine\n${FIRST}${ADDED}// theirs too\n`);
    assert.equal(await repository.sessions("a.ts"), "- - - - - s1 s1 s1 s2");
    assert.equal(await repository.sessions("a.ts", "HEAD"), "- - - - - s1 s1 s1");
  });

  it("records nothing of what git ignores, and nothing in the person's repository", async () => {
    using repository = new Recorded();
    repository.write(".gitignore", "secret.env\n");
    const before = repository.run("for-each-ref") + repository.run("count-objects");
    await repository.work("s1", "secret.env", "KEY=1\n");
    await assert.rejects(
      repository.sessions("secret.env"),
      /'secret.env' is no file of the repository/,
    );
    assert.equal(repository.run("for-each-ref") + repository.run("count-objects"), before);
  });

  it("follows lines that were indented, moved and formatted, and does not call these certain", async () => {
    using repository = new Recorded();
    await repository.work("s1", "a.ts", FIRST + ADDED);
    repository.save("Second");
    const formatted = ADDED.replace("(value, 2)", "(\n    value,\n    2,\n  )");
    repository.write("a.ts", FIRST.replaceAll("'", '"') + formatted);
    repository.save("Format");
    const found = await repository.sessions("a.ts");
    assert.match(found, /^-\? - - - s1 (?:s1\? |-\? ){4}s1$/);
    assert.match(found, /s1\?/);
  });

  it("follows renamed files, amended, rebased and squashed commits", async () => {
    using repository = new Recorded();
    repository.run("switch", "--quiet", "--create", "topic");
    await repository.work("s1", "a.ts", FIRST + ADDED);
    repository.save("Second");
    repository.run("mv", "a.ts", "b.ts");
    repository.run("commit", "--quiet", "--amend", "--message", "Renamed");
    assert.equal(await repository.sessions("b.ts"), "- - - - s1 s1 s1");
    await repository.work("s2", "b.ts", `${FIRST}${ADDED}// the end of it all\n`);
    repository.save("Third");
    // The forge makes one commit of the branch, and the person gets it with nothing else.
    repository.run("switch", "--quiet", "-");
    await repository.history.record({ by: "person" });
    repository.run("merge", "--quiet", "--squash", "topic");
    repository.run("commit", "--quiet", "--message", "Squashed");
    repository.run("branch", "-D", "topic");
    assert.match(await repository.sessions("b.ts"), /^- - - - s1\?? s1\?? s1\?? s2\??$/);
  });

  it("goes on where a kill has ended the beginning of the record", async () => {
    using repository = new Recorded();
    await repository.history.record({ by: "person" });
    const record = join(repository.home, "data", "authorship");
    const [name = ""] = readdirSync(record).filter((each) => each.endsWith(".git"));
    rmSync(join(record, name, "objects", "info", "alternates"));
    await repository.work("s1", "a.ts", FIRST + ADDED);
    assert.equal(await repository.sessions("a.ts"), "- - - - s1 s1 s1");
    await assert.rejects(repository.sessions("a.ts", "nowhere"), /There is no commit 'nowhere'/);
  });

  it("says what the person's own history says where nothing was recorded", async () => {
    using repository = new Recorded();
    await repository.work("s1", "a.ts", FIRST + ADDED);
    repository.save("Second");
    rmSync(join(repository.home, "data"), { recursive: true });
    assert.equal(await repository.sessions("a.ts"), "- - - - - - -");
  });

  it("asks the last step of a file that is as it was there, and makes a step of one that has changed", async () => {
    using repository = new Recorded();
    const odd = "odd\nname missing";
    repository.write(odd, "one\n");
    await repository.work("s1", "a.ts", FIRST + ADDED);
    const { history } = repository;
    const tip = await history.tip();
    assert.ok(tip);
    assert.equal(await history.now(undefined, "a.ts"), tip);
    const texts = ["none", odd, "a.ts"].map((path) => history.text(tip, path));
    assert.deepEqual(await Promise.all(texts), [undefined, "one\n", FIRST + ADDED]);
    repository.write("a.ts", FIRST);
    const now = await history.now(undefined, "a.ts");
    assert.notEqual(now, tip);
    assert.equal(await history.text(now ?? "", "a.ts"), FIRST);
  });

  it("says what the record knows of a line, whatever session the commit names", async () => {
    using repository = new Recorded();
    repository.write("a.ts", `${FIRST}// mine\n`);
    await repository.history.record({ by: "person" });
    await repository.work("s1", "b.ts", "// the agent's\n");
    repository.save("Both\n\nTrunkline-Session: s1");
    assert.equal(await repository.sessions("b.ts"), "s1");
    // A brace is in every text.
    assert.equal(await repository.sessions("a.ts", "HEAD"), "- - - -? -");
  });

  it("takes lines that are not committed for the person's, where no agent was recorded", async () => {
    using repository = new Recorded();
    repository.write("a.ts", `${FIRST}// mine\n`);
    const [last] = (await new LineTracer(repository.history).trace("a.ts")).slice(-1);
    assert.deepEqual([last?.text, last?.step.by, last?.commit], ["// mine", "person", undefined]);
    const [first] = await new LineTracer(repository.history).trace("a.ts", {
      range: { first: 1, last: 1 },
    });
    assert.equal(first?.step.by, "commit");
  });

  describe("of an agent that runs git", () => {
    it("leaves the lines of a branch that was merged, or switched to, to their authors", async () => {
      using repository = new Recorded();
      const main = repository.run("branch", "--show-current").trim();
      repository.run("switch", "--quiet", "--create", "bob");
      repository.write("a.ts", `${FIRST}// by Bob, of whom nobody knows\n`);
      repository.save("Bob's", BOB);
      repository.run("switch", "--quiet", main);
      repository.write("b.ts", "// something else of the person\n");
      repository.save("Mine", BOB);
      await repository.command("s1", () => repository.run("merge", "--quiet", "--no-edit", "bob"));
      assert.equal(await repository.sessions("a.ts"), "- - - - -");
      const last = (await new LineTracer(repository.history).trace("a.ts")).at(-1);
      assert.ok(last?.commit);
      assert.match((await repository.history.commit(last.commit)).author, /^Bob </);
      repository.run("switch", "--quiet", "--create", "carol");
      repository.write("a.ts", `// by Carol, whose branch it is\n${FIRST}`);
      repository.save("Carol's", BOB);
      repository.run("switch", "--quiet", main);
      await repository.command("s1", () => repository.run("switch", "--quiet", "carol"));
      assert.equal(await repository.sessions("a.ts"), "- - - - -");
    });

    it("leaves the lines that checkout, restore and stash bring back to whoever wrote them", async () => {
      using repository = new Recorded();
      await repository.work("s1", "a.ts", FIRST + ADDED);
      repository.write("a.ts", `// mine, and not committed\n${FIRST}${ADDED}`);
      await repository.command("s2", () => {
        repository.run("stash", "--quiet");
      });
      assert.equal(await repository.sessions("a.ts"), "- - - -");
      await repository.command("s2", () => {
        repository.run("stash", "pop", "--quiet");
      });
      assert.equal(await repository.sessions("a.ts"), "- - - - - s1 s1 s1");
      repository.save("Second");
      repository.write("a.ts", "");
      await repository.command("s2", () => repository.run("checkout", "--quiet", "--", "a.ts"));
      assert.equal(await repository.sessions("a.ts"), "- - - - - s1 s1 s1");
      repository.write("a.ts", "");
      await repository.command("s2", () => repository.run("restore", "a.ts"));
      assert.equal(await repository.sessions("a.ts"), "- - - - - s1 s1 s1");
    });

    it("has the lines of a commit or an amend that it made in the same call, without being certain", async () => {
      using repository = new Recorded();
      await repository.command("s1", () => {
        repository.write("a.ts", FIRST + ADDED);
        repository.save("Second");
      });
      assert.equal(await repository.sessions("a.ts"), "- - - - s1? s1? s1?");
      await repository.command("s2", () => {
        repository.write("a.ts", `${FIRST}${ADDED}// the end of it all\n`);
        repository.run("commit", "--quiet", "--all", "--amend", "--no-edit");
      });
      assert.equal(await repository.sessions("a.ts"), "- - - - s1? s1? s1? s2?");
    });
  });

  it("finds the agent of lines that the person put into a stash and took out again", async () => {
    using repository = new Recorded();
    await repository.work("s1", "a.ts", FIRST + ADDED);
    repository.run("stash", "--quiet");
    await repository.history.record({ by: "person" });
    repository.run("stash", "pop", "--quiet");
    await repository.history.record({ by: "person" });
    assert.equal(await repository.sessions("a.ts"), "- - - - s1 s1 s1");
    repository.run("stash", "--quiet");
    repository.write("a.ts", `// mine, from now on\n${FIRST}`);
    await repository.history.record({ by: "person" });
    repository.save("Mine");
    repository.run("stash", "pop", "--quiet");
    assert.match(await repository.sessions("a.ts"), /^-\S* - - - - s1\? s1\? s1\?$/);
  });

  it("is not certain of an agent where more changed than its call said", async () => {
    using repository = new Recorded();
    const { history } = repository;
    await history.record({ by: "person" });
    repository.write("a.ts", `// typed meanwhile\n${FIRST}${ADDED}`);
    repository.write("b.ts", "// in another file\n");
    await history.record({ ...stepOf("s1"), told: { "a.ts": ADDED.split("\n") } });
    assert.equal(await repository.sessions("a.ts"), "s1? - - - - s1? s1? s1?");
    assert.equal(await repository.sessions("b.ts"), "s1?");
    await repository.command("s2", () => repository.write("b.ts", "// by a command\n"));
    assert.equal(await repository.sessions("b.ts"), "s2?");
  });

  it("is not certain of the person while an agent works, in this process or another", async () => {
    using repository = new Recorded();
    const { history } = repository;
    await history.record({ by: "person" });
    {
      using _turn = await history.enter("s1");
      repository.write("a.ts", `${FIRST}// by somebody\n`);
      assert.equal(await repository.sessions("a.ts"), "- - - - -?");
      await history.record({ by: "person" });
    }
    repository.write("a.ts", `// by the person\n${FIRST}// by somebody\n`);
    assert.equal(await repository.sessions("a.ts"), "- - - - - -?");
  });

  it("follows lines that were picked into another branch, and reverted twice", async () => {
    using repository = new Recorded();
    repository.run("switch", "--quiet", "--create", "topic");
    await repository.work("s1", "a.ts", FIRST + ADDED);
    const picked = repository.save("Second");
    repository.run("switch", "--quiet", "-");
    await repository.history.record({ by: "person" });
    repository.run("cherry-pick", "--quiet", picked);
    assert.equal(await repository.sessions("a.ts"), "- - - - s1 s1 s1");
    repository.run("revert", "--no-edit", "HEAD");
    await repository.history.record({ by: "person" });
    repository.write("a.ts", `// another first line\n${FIRST}`);
    repository.save("Other");
    repository.run("revert", "--no-edit", "HEAD~1");
    assert.match(await repository.sessions("a.ts"), /^-\S* - - - - s1\? s1\? s1\?$/);
  });

  it("is not certain that a commit's author wrote what an agent wrote before", async () => {
    using repository = new Recorded();
    repository.run("switch", "--quiet", "--create", "topic");
    await repository.work("s1", "a.ts", FIRST + ADDED);
    repository.save("Second");
    repository.run("switch", "--quiet", "-");
    repository.run("branch", "-D", "topic");
    // The forge's commit has the same in another file, and formatted.
    const formatted = ADDED.replace("(value, 2)", "(\n    value,\n    2,\n  )");
    repository.write("c.ts", `${formatted}// of nobody else but the person\n`);
    repository.save("Squashed, moved and formatted");
    assert.match(await repository.sessions("c.ts"), /^(?:-\? ){6}-$/);
  });

  it("takes the word of a commit for the remote run that made it, and is not certain", async () => {
    using repository = new Recorded();
    repository.write("a.ts", `${FIRST}// by a run\n`);
    repository.save("Run\n\nBody\n\nTrunkline-Session: r1");
    assert.equal(await repository.sessions("a.ts"), "- - - - r1?");
  });

  it("counts lines by agent, by what Git AI noted, and by the people's names", async () => {
    using repository = new Recorded();
    await repository.work("s1", "a.ts", FIRST + ADDED);
    repository.save("Second");
    repository.write("b.ts", "// noted\n// by Bob\n");
    repository.save("Noted", BOB);
    const agent = { tool: "cursor", id: "two", model: "auto" };
    const sessions = { s_00000000000001: { agent_id: agent } };
    const note = `b.ts\n  s_00000000000001 1\n---\n${JSON.stringify({ sessions })}`;
    repository.run("notes", "--ref=ai", "add", "--message", note, "HEAD");
    const { agents, people, files } = await countLines(repository.history, "");
    assert.deepEqual(
      agents.map(({ agent, lines, certain }) => [agent, lines, certain]),
      [
        ["claude", 4, 4],
        ["cursor", 1, 1],
      ],
    );
    assert.deepEqual(people, [{ name: "Bob <ada@example.org>", lines: 6, certain: 6 }]);
    assert.equal(files, 2);
  });
});

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { LineTracer } from "./line-tracer.ts";
import { WorkHistory } from "./work-history.ts";

const FIRST = "import one from 'one';\n\nexport function first() {\n  return one;\n}\n";
const ADDED = "\nexport function added(value) {\n  return one.doubled(value, 2);\n}\n";

/** A repository with one commit, in which agents work and are recorded. */
class Recorded extends SampleRepository {
  constructor() {
    super();
    super.write(".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n");
    this.write("a.ts", FIRST);
    this.save("First");
  }

  get history(): WorkHistory {
    const history = WorkHistory.of(join(this.home, "data"), this.path);
    assert.ok(history);
    return history;
  }

  override write(path: string, text: string): string {
    return super.write(`app/${path}`, text);
  }

  save(message: string): string {
    this.run("add", "--all");
    this.run("commit", "--quiet", "--message", message);
    return this.run("rev-parse", "HEAD").trim();
  }

  /** Has an agent write a file, between two looks at the files. */
  async work(session: string, path: string, text: string): Promise<void> {
    await this.history.record({ by: "person" });
    this.write(path, text);
    await this.history.record({ by: "agent", session, turn: "t", call: "c", agent: "claude" });
  }

  /** Each line's session or "-", with a question mark where that is not certain. */
  async sessions(path: string, commit?: string): Promise<string> {
    const lines = await new LineTracer(this.history).trace(path, undefined, commit);
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
    assert.match(found, /^-\? - - - s1 (?:s1\? |- ){4}s1$/);
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

  it("says what the person's own history says where nothing was recorded", async () => {
    using repository = new Recorded();
    await repository.work("s1", "a.ts", FIRST + ADDED);
    repository.save("Second");
    rmSync(join(repository.home, "data"), { recursive: true });
    assert.equal(await repository.sessions("a.ts"), "- - - - - - -");
  });

  it("takes lines that are not committed for the person's, where no agent was recorded", async () => {
    using repository = new Recorded();
    repository.write("a.ts", `${FIRST}// mine\n`);
    const [last] = (await new LineTracer(repository.history).trace("a.ts")).slice(-1);
    assert.deepEqual([last?.text, last?.step.by, last?.commit], ["// mine", "person", undefined]);
    const [first] = await new LineTracer(repository.history).trace("a.ts", { first: 1, last: 1 });
    assert.equal(first?.step.by, "commit");
  });
});

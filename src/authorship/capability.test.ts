import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { OWNER, type Principal } from "../base/principal.ts";
import { findRepository } from "../review/repository.ts";
import { addCommentIn } from "../review/add-comment.ts";
import { Reviews } from "../store/review/reviews.ts";
import { SessionLog } from "../store/session/session-log.ts";
import { Offer } from "../tool/offer/offer.ts";
import { authorship } from "./capability.ts";
import { WorkHistory } from "./work-history.ts";

const SECRET = "Make it safe, the key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
const CALL = { toolCallId: "c", title: "Edit a.txt" };
/** What a token of somebody else may do with tools alone. */
const TOOLS: Principal = { id: "token other", name: "other", scopes: ["tools"] };

/** A repository with a line that an agent wrote in a session of the owner, and the tool that tells of it. */
class Told extends SampleRepository {
  readonly data = join(this.home, "data");
  readonly offer = new Offer({
    repositoryOf: (folder) => {
      const found = findRepository(folder);
      return found && { top: found.root, gitFolders: [found.gitDir, found.worktreeGitDir] };
    },
  });

  constructor() {
    super();
    authorship.offer?.({ config: { data: this.data } }, this.offer, {});
    this.write("app/a.txt", "by hand\n");
    this.write("app/sub/b.txt", "b\n");
    this.run("add", ".");
    this.commit();
  }

  async work(path: string, text: string): Promise<void> {
    const history = WorkHistory.of(this.data, this.path);
    assert.ok(history);
    await history.record({ by: "person" });
    this.write(`app/${path}`, text);
    const step = { by: "agent", session: "s1", turn: "t", call: "c", agent: "claude" } as const;
    await history.record({ ...step, told: { [path]: text.split("\n") } });
  }

  async session(): Promise<void> {
    await using log = await SessionLog.open(this.data);
    const { key } = await log.create({ id: "s1", cwd: this.path, agent: "claude", notes: {} });
    const events = [
      { kind: "prompt", turnId: "t", prompt: [{ type: "text", text: SECRET }], by: "ada" },
      { kind: "permission", turnId: "t", requestId: "r", request: { toolCall: CALL, options: [] } },
      {
        kind: "answer",
        requestId: "r",
        outcome: { outcome: "selected", optionId: "yes" },
        by: "ada",
      },
      { kind: "end", turnId: "t", stopReason: "end_turn" },
    ];
    for (const event of events) log.append(key, "client", JSON.stringify(event));
    await log.flush();
  }

  async why(args: object, principal = OWNER, folder = this.path): Promise<string> {
    const caller = { door: "mcp", name: "x", principal, client: "x" };
    const signal = new AbortController().signal;
    const context = { caller, signal, folder, meta: {}, progress: () => {}, log: () => {} };
    const given = { ...args };
    const { content } = await this.offer.tools.call("why_line", given, context as never);
    return content.map(({ text }) => text).join("\n");
  }
}

describe("why_line", () => {
  it("tells session, prompt, permission and comment, without secrets, to whom they belong", async () => {
    using told = new Told();
    await told.session();
    await told.work("a.txt", "by the agent\n");
    const said = await told.why({ folder: told.path, file: "a.txt", line: 1 });
    assert.match(
      said,
      /^line: by the agent\nwritten by: claude\nsession: s1\nturn: t\nprompt: Make/,
    );
    assert.match(said, /\nallowed by: ada \(yes\): Edit a\.txt\nreplaced: by hand\n/);
    assert.match(said, /\ncommitted: not yet\ncertain: yes$/);
    assert.doesNotMatch(said, /sk-ant-api03-abc/);
    const comment = { file: "a.txt", line: 1, comment: "Why so?", by: "ada", source: "test" };
    const { id } = await addCommentIn(told.data, told.path, comment);
    told.run("add", ".");
    told.commit();
    const commit = told.run("rev-parse", "HEAD");
    using reviews = await Reviews.open(told.data);
    await reviews.propose(id, { by: "claude", role: "agent", proposal: { commit } });
    const asked = await told.why({ file: "a.txt", line: 1 });
    assert.match(asked, new RegExp(`asked by: ada in ${id}: Why so\\?`));
    // Another's token sees who wrote it, and neither the session nor the comment.
    const others = await told.why({ file: "a.txt", line: 1 }, TOOLS);
    assert.match(others, /^line: by the agent\nwritten by: claude\nreplaced: by hand\ncommitted: /);
    const reviewer: Principal = { ...TOOLS, scopes: ["tools", "review"] };
    assert.match(await told.why({ file: "a.txt", line: 1 }, reviewer), /asked by: ada/);
  });

  it("keeps a token in its folders, also where a file leads out of them", async () => {
    using told = new Told();
    const limited: Principal = { ...TOOLS, limits: { folders: [told.path] } };
    assert.match(await told.why({ file: "a.txt", line: 1 }, limited), /^line: by hand/);
    const narrow: Principal = { ...TOOLS, limits: { folders: [join(told.path, "sub")] } };
    const folder = join(told.path, "sub");
    assert.match(await told.why({ folder, file: "b.txt", line: 1 }, narrow), /'other' may not use/);
    told.write("out/secret.txt", "secret\n");
    symlinkSync(join(told.home, "out"), join(told.path, "link"));
    for (const file of [
      "link/secret.txt",
      "../out/secret.txt",
      join(told.home, "out/secret.txt"),
    ]) {
      assert.match(
        await told.why({ file, line: 1 }, limited),
        /'other' may not use the file/,
        file,
      );
      assert.match(
        await told.why({ file, line: 1 }),
        /is no file of the repository|no such/i,
        file,
      );
    }
  });

  it("takes names that look like options or pathspec magic for what they are", async () => {
    using told = new Told();
    for (const file of [":(top)a.txt", ":!a.txt", "--output=x", "-L1,1", "*.txt"]) {
      await told.work(file, `in ${file}\n`);
      const said = await told.why({ file, line: 1 });
      assert.ok(said.startsWith(`line: in ${file}\nwritten by: claude\n`), said);
      assert.match(said, /certain: yes$/);
      told.write(`app/${file}`, `in ${file}\nmore\n`);
      assert.match(await told.why({ file, line: 2 }), /^line: more\n/);
      told.run("add", ".");
      told.commit();
      assert.match(await told.why({ file, line: 1 }), /committed: \w{12} Nobody/);
    }
    assert.match(await told.why({ file: ":(glob)*.md", line: 1 }), /is no file of the repository/);
  });
});

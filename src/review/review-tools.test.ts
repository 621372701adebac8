import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import type { Project } from "../tool/project.ts";
import { SampleContext } from "../../test/samples/sample-context.ts";
import type { Arguments, ToolResult } from "../tool/tool.ts";
import { ReviewTools, type ReviewSettings } from "./review-tools.ts";
import { sampleLines, SampleRepository } from "../../test/samples/sample-review-repository.ts";
import type { ThreadView } from "./thread-view.ts";

const SETTINGS: ReviewSettings = { batch: 10, first: "newest", lease: 900 };

/** A repository with an agent's tools for it. */
class Reviewing implements AsyncDisposable {
  readonly sample: SampleRepository;
  readonly tools: ReviewTools;

  private constructor(sample: SampleRepository, tools: ReviewTools) {
    this.sample = sample;
    this.tools = tools;
  }

  static async begin(
    sample = new SampleRepository(),
    settings: Partial<ReviewSettings> = {},
    folder = sample.root,
  ): Promise<Reviewing> {
    sample.write("a.txt", sampleLines(20));
    const report = (error: unknown): void => assert.fail(error as Error);
    return new Reviewing(
      sample,
      new ReviewTools(await sample.commands(folder), { ...SETTINGS, ...settings }, report),
    );
  }

  async add(comment: string, line = 5): Promise<string> {
    using commands = await this.sample.commands();
    return (await commands.add({ file: "a.txt", line, comment, by: "ada", source: "test" })).id;
  }

  async call(
    name: string,
    args: Arguments = {},
    context = new SampleContext(),
  ): Promise<ToolResult> {
    context.project ??= inFolder(this.sample.root);
    const result = await this.tools.call(name, args, context);
    // The answer leaves at the end of the turn.
    for (let n = 0; n < 4; n++) await turn();
    return result;
  }

  async text(name: string, args: Arguments = {}, context = new SampleContext()): Promise<string> {
    return String((await this.call(name, args, context)).content[0]?.text);
  }

  async threads(name: string, args: Arguments = {}, by = "tester"): Promise<ThreadView[]> {
    const { structuredContent } = await this.call(
      name,
      args,
      new SampleContext({ caller: { name: by } }),
    );
    return (structuredContent as { threads: ThreadView[] }).threads;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tools[Symbol.asyncDispose]();
    this.sample[Symbol.dispose]();
  }
}

function inFolder(folder: string, source: Project["source"] = "roots"): Project {
  return { folder, folders: [folder], ...(source === undefined ? {} : { source }) };
}

function commentsIn(text: string): string[] {
  return [...text.matchAll(/^Comment: (.*)$/gm)].map(([, comment = ""]) => comment);
}

describe("check_lazygit_messages", () => {
  it("gives the newest ten, then the others, each once, to each reader", async () => {
    await using reviewing = await Reviewing.begin();
    for (let n = 1; n <= 13; n++) await reviewing.add(`${n}`);
    const check = async (name: string): Promise<string[]> => {
      const context = new SampleContext({ caller: { name } });
      return commentsIn(await reviewing.text("check_lazygit_messages", {}, context));
    };
    assert.deepEqual((await check("a")).join(), "4,5,6,7,8,9,10,11,12,13");
    assert.deepEqual((await check("a")).join(), "1,2,3");
    assert.equal(
      await reviewing.text(
        "check_lazygit_messages",
        {},
        new SampleContext({ caller: { name: "a" } }),
      ),
      "No new messages from lazygit",
    );
    assert.equal((await check("b")).length, 10);
  });

  it("gives the oldest first where that is configured, and as many as is", async () => {
    await using reviewing = await Reviewing.begin(undefined, { batch: 2, first: "oldest" });
    for (const comment of ["1", "2", "3"]) await reviewing.add(comment);
    assert.deepEqual(commentsIn(await reviewing.text("check_lazygit_messages")), ["1", "2"]);
    assert.deepEqual(commentsIn(await reviewing.text("check_lazygit_messages")), ["3"]);
  });

  it("keeps what a caller that has gone did not get", async () => {
    await using reviewing = await Reviewing.begin();
    await reviewing.add("one");
    const gone = new SampleContext();
    gone.abort.abort(new Error("gone"));
    await reviewing.call("check_lazygit_messages", {}, gone);
    assert.deepEqual(commentsIn(await reviewing.text("check_lazygit_messages")), ["one"]);
  });

  it("is about the repository that the client works in", async () => {
    using elsewhere = new SampleRepository();
    await using reviewing = await Reviewing.begin(undefined, {}, "/");
    await reviewing.add("here");
    const check = async (project: Project, name: string): Promise<string[]> => {
      const context = new SampleContext({ caller: { name } });
      context.project = project;
      return commentsIn(await reviewing.text("check_lazygit_messages", {}, context));
    };
    const { root, parent } = reviewing.sample;
    assert.deepEqual(await check(inFolder(elsewhere.root), "a"), []);
    assert.deepEqual(await check(inFolder(parent), "a"), [], "a root without a repository");
    assert.deepEqual(await check(inFolder(root), "a"), ["here"]);
    const both: Project = { folders: [elsewhere.root, root], source: "roots" };
    assert.deepEqual(await check(both, "b"), ["here"]);
    // Started in a folder that means nothing in particular, or in none.
    assert.deepEqual(await check(inFolder(parent, "folder"), "c"), ["here"]);
    assert.deepEqual(await check({ folders: [] }, "d"), ["here"]);
  });
});

describe("review tools", () => {
  it("let an agent claim, answer and propose, and a person see it", async () => {
    await using reviewing = await Reviewing.begin();
    const commit = reviewing.sample.commit();
    const [one, two] = [await reviewing.add("why?"), await reviewing.add("fix", 7)];
    const [claimed] = await reviewing.threads("review_claim");
    assert.equal(claimed?.id, one);
    assert.equal(claimed?.claimedBy, "tester");
    assert.match(await reviewing.text("review_reply", { id: one, text: "so" }), /is answered/);
    assert.match(
      await reviewing.text("review_propose", { id: two, commit: "HEAD" }),
      /is proposed/,
    );
    await assert.rejects(
      reviewing.call("review_propose", { id: two, commit: "nothing" }),
      /There is no commit 'nothing'/,
    );
    const [, proposed] = await reviewing.threads("review_list");
    assert.equal(proposed?.state, "proposed");
    const [shown] = await reviewing.threads("review_list", { id: two });
    assert.equal(shown?.replies?.at(-1)?.commit, commit);
  });

  it("give two agents different threads, and say who has one", async () => {
    await using reviewing = await Reviewing.begin();
    const id = await reviewing.add("one");
    await reviewing.add("two");
    const claims = await Promise.all(
      ["a", "b", "c"].map((by) => reviewing.threads("review_claim", {}, by)),
    );
    assert.deepEqual(
      claims.map(({ length }) => length).toSorted((x, y) => x - y),
      [0, 1, 1],
    );
    const owner = claims[0]?.[0]?.id === id ? "b" : "a";
    const context = new SampleContext({ caller: { name: owner } });
    await assert.rejects(
      reviewing.call("review_reply", { id, text: "x" }, context),
      /has claimed it/,
    );
    const named = new SampleContext({ caller: { name: "a" } });
    await assert.rejects(
      reviewing.call("review_claim", { id, agent: "two" }, named),
      /has claimed it/,
    );
  });

  it("say which repository they are about, and take no threads of another", async () => {
    using elsewhere = new SampleRepository();
    await using reviewing = await Reviewing.begin(undefined, {}, "/");
    const { root, parent } = reviewing.sample;
    const id = await reviewing.add("one");
    const from = (project: Project): SampleContext => {
      return Object.assign(new SampleContext(), { project });
    };
    const there = await reviewing.text("review_claim", {}, from(inFolder(elsewhere.root)));
    assert.equal(there, `No thread is free to be claimed.\nRepository: ${elsewhere.root}`);
    const args = { timeoutSeconds: 0 };
    const none = await reviewing.text("review_wait", args, from(inFolder(elsewhere.root)));
    assert.match(none, new RegExp(`^No new review comments.*\nRepository: ${elsewhere.root}$`));
    for (const source of ["folder", "argument"] as const) {
      const nowhere = from(inFolder(parent, source));
      await assert.rejects(reviewing.call("review_claim", {}, nowhere), /in no git repository/);
    }
    const here = await reviewing.text("review_claim", {}, from(inFolder(root)));
    assert(here.startsWith(`${id} `) && here.endsWith(`\nRepository: ${root}`), here);
    const answer = await reviewing.text("review_reply", { id, text: "so" });
    assert.equal(answer, `${id} is answered. The person will see it.\nRepository: ${root}`);
  });

  it("wait for a comment, and claim it", async () => {
    await using reviewing = await Reviewing.begin();
    const waiting = reviewing.threads("review_wait", { timeoutSeconds: 60 });
    await turn();
    const id = await reviewing.add("at last");
    assert.deepEqual(
      (await waiting).map((thread) => [thread.id, thread.state]),
      [[id, "claimed"]],
    );
    assert.deepEqual(await reviewing.threads("review_wait", { timeoutSeconds: 0 }), []);
  });

  it("stop waiting when the caller is gone, and leave the comment to others", async () => {
    await using reviewing = await Reviewing.begin();
    const context = new SampleContext();
    const waiting = reviewing.call("review_wait", { timeoutSeconds: 60 }, context);
    context.abort.abort(new Error("gone"));
    await assert.rejects(waiting, { code: "cancelled" });
    await reviewing.add("one");
    assert.equal((await reviewing.threads("review_claim", {}, "other")).length, 1);
  });

  it("give back what was claimed when they close", async () => {
    using sample = new SampleRepository();
    {
      const reviewing = await Reviewing.begin(sample);
      await reviewing.add("one");
      await reviewing.threads("review_claim");
      await reviewing.tools[Symbol.asyncDispose]();
    }
    using commands = await sample.commands();
    assert.equal((await commands.list({ states: ["open"] })).length, 1);
  });
});

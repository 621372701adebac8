import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Project } from "../tool/tool.ts";
import { SampleContext } from "../../test/samples/sample-context.ts";
import { commentsIn, inFolder, Reviewing } from "../../test/samples/sample-reviewing.ts";
import { SampleRepository } from "../../test/samples/sample-review-repository.ts";
import { covers } from "../../test/support/requirement.ts";

describe("check_lazygit_messages", () => {
  it("returns the newest ten, then the others, each once, to each reader", async () => {
    covers(
      "review.queue.accumulate",
      "review.queue.batch",
      "review.queue.limit",
      "review.queue.clear",
    );
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

  it("returns the configured number, oldest first if configured", async () => {
    await using reviewing = await Reviewing.begin(undefined, { batch: 2, first: "oldest" });
    for (const comment of ["1", "2", "3"]) await reviewing.add(comment);
    assert.deepEqual(commentsIn(await reviewing.text("check_lazygit_messages")), ["1", "2"]);
    assert.deepEqual(commentsIn(await reviewing.text("check_lazygit_messages")), ["3"]);
  });

  it("names the delivery and the threads, for programs that acknowledge", async () => {
    await using reviewing = await Reviewing.begin();
    const ids = [await reviewing.add("1"), await reviewing.add("2")];
    const { _meta } = await reviewing.call("check_lazygit_messages");
    assert.deepEqual(_meta?.["trunkline/threads"], ids);
    const after = _meta?.["trunkline/delivery"];
    assert.equal(typeof after, "string");
    const { _meta: none } = await reviewing.call("check_lazygit_messages", { after });
    assert.equal(none, undefined);
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

  it("let one window have a claim of several of the same program, until it is gone", async () => {
    await using reviewing = await Reviewing.begin();
    const id = await reviewing.add("one");
    const window = (client: string): SampleContext => {
      return new SampleContext({ caller: { name: "editor", client } });
    };
    await reviewing.call("review_claim", { id }, window("1"));
    const claim = (): Promise<unknown> => reviewing.call("review_claim", { id }, window("2"));
    await assert.rejects(claim, /another client named editor has claimed it until/);
    await reviewing.tools.gone("2");
    await assert.rejects(claim, /another client named editor/);
    await reviewing.tools.gone("1");
    await claim();
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

  it("name their repository, and return no threads of another", async () => {
    using elsewhere = new SampleRepository();
    await using reviewing = await Reviewing.begin(undefined, {}, "/");
    const { root, parent } = reviewing.sample;
    const id = await reviewing.add("one");
    const from = (project: Project): SampleContext => {
      return Object.assign(new SampleContext(), { project });
    };
    const there = await reviewing.text("review_claim", {}, from(inFolder(elsewhere.root)));
    assert.equal(there, `No unclaimed thread.\nRepository: ${elsewhere.root}`);
    const args = { timeoutSeconds: 0 };
    const none = await reviewing.text("review_wait", args, from(inFolder(elsewhere.root)));
    assert.match(none, new RegExp(`^No new review comments.*\nRepository: ${elsewhere.root}$`));
    for (const source of ["folder", "argument"] as const) {
      const nowhere = from(inFolder(parent, source));
      await assert.rejects(reviewing.call("review_claim", {}, nowhere), /not in a git repository/);
    }
    const here = await reviewing.text("review_claim", {}, from(inFolder(root)));
    assert(here.startsWith(`${id} `) && here.endsWith(`\nRepository: ${root}`), here);
    const answer = await reviewing.text("review_reply", { id, text: "so" });
    assert.equal(answer, `${id} is answered. The reviewer will see it.\nRepository: ${root}`);
  });

  it("release claims when they close", async () => {
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

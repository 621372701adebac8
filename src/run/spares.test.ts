import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { git, SampleRuns } from "../../test/samples/sample-runs.ts";
import { Log } from "../base/log.ts";
import type { AgentOpenOptions, AgentSession, Turn } from "../session/agent.ts";
import { RunAgent } from "./run-agent.ts";
import type { RunPlan } from "./run-plan.ts";
import { type InnerAgent, type SpareRequest, Spares, type SparesOptions } from "./spares.ts";

/** Spares of real workspaces, with agents that note what happens to them. */
class Rig implements AsyncDisposable {
  readonly sample: SampleRuns;
  readonly spares: Spares;
  /** Agents whose process was started in advance, and agents that have ended. */
  readonly started: string[] = [];
  readonly ended: string[] = [];
  /** Called when an agent is started in advance. */
  starting: () => Promise<void> = async () => {};
  /** Called when an agent ends. */
  ending: () => void = () => {};

  constructor(sample: SampleRuns, options: Partial<SparesOptions>) {
    this.sample = sample;
    this.spares = new Spares({
      most: 2,
      open: (plan) => sample.runs.open(plan, ""),
      inner: async (name, run) => this.#inner(name, run.plan.workspace),
      remove: (plan) => sample.runs.remove(plan),
      log: new Log("error"),
      ...options,
    });
  }

  static async open(options: Partial<SparesOptions> = {}): Promise<Rig> {
    return new Rig(await SampleRuns.open(), options);
  }

  get workspaces(): string[] {
    const folder = join(this.sample.folder, "run/work");
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  /** Begins a session as `session/new` does. */
  async begin(agent = "one", owner = "", meta = this.sample.meta) {
    const { runs } = this.sample;
    const wanted = runs.plan(meta);
    assert.ok(wanted !== undefined);
    const plan = this.spares.reserve(wanted, owner);
    const session = await this.open(plan, agent, owner);
    return { plan, session };
  }

  async open(plan: RunPlan, agent: string, owner: string): Promise<AgentSession> {
    const run = new RunAgent({
      runs: this.sample.runs,
      inner: async ({ plan: { workspace } }) => this.#inner(agent, workspace),
      name: agent,
      plan,
      answerWithin: 60_000,
      spares: this.spares,
    });
    const options = { sessionId: "s", cwd: "", mcpServers: [], owner, update: () => {} };
    return await run.open({ ...options, additionalDirectories: [] } as unknown as AgentOpenOptions);
  }

  /** Begins sessions, one after another, and deletes each. */
  async beginAndEnd(...agents: readonly string[]): Promise<void> {
    for (const agent of agents) {
      const { plan, session } = await this.begin(agent);
      await session[Symbol.asyncDispose]();
      await this.sample.runs.remove(plan);
    }
  }

  /** Waits until an agent was started in advance. */
  async prepared(count: number): Promise<string> {
    while (this.started.length < count) await pause(5);
    return this.started.at(-1) ?? "";
  }

  #inner(name: string, workspace: string): InnerAgent {
    const id = `${name} in ${workspace}`;
    return {
      name,
      start: async () => {
        await this.starting();
        this.started.push(workspace);
      },
      open: async ({ cwd }) => ({
        settings: {},
        prompt: async () => {
          writeFileSync(join(cwd, "new.txt"), "new\n");
          return { stopReason: "end_turn" };
        },
        [Symbol.asyncDispose]: async () => {},
      }),
      [Symbol.asyncDispose]: async () => {
        this.ended.push(id);
        this.ending();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.spares[Symbol.asyncDispose]();
    await this.sample[Symbol.asyncDispose]();
  }
}

describe("Spares", () => {
  it("gives the third session on a revision what was prepared after the second", async () => {
    await using rig = await Rig.open();
    await using one = (await rig.begin()).session;
    await using two = (await rig.begin()).session;
    const spare = await rig.prepared(1);
    const third = await rig.begin();
    await using three = third.session;
    assert.equal(third.plan.workspace, spare);
    assert.deepEqual(new Set([one, two, three]).size, 3);
    const turn = {
      id: "t",
      prompt: [{ type: "text", text: "Add" }],
      signal: new AbortController().signal,
    };
    const client = { notices: false, compaction: false };
    const principal = { id: "" };
    const update = async (): Promise<void> => {};
    const end = await three.prompt({ ...turn, principal, client, update } as unknown as Turn);
    const { target } = end._meta as { target: { branch: string; revision: string } };
    assert.equal(target.branch, `agent/${spare}`);
    const { remote, revision } = rig.sample;
    assert.equal(git(remote, "rev-parse", `${target.branch}^`), revision);
    assert.equal(git(remote, "show", `${target.branch}:new.txt`), "new");
  });

  it("prepares nothing for single sessions, other principals, agents and revisions", async () => {
    await using rig = await Rig.open();
    await rig.beginAndEnd("one", "two");
    await using guest = (await rig.begin("one", "guest")).session;
    assert.ok(guest.settings);
    await rig.beginAndEnd("one");
    const spare = await rig.prepared(1);
    const wanted = rig.sample.runs.plan(rig.sample.meta);
    assert.ok(wanted !== undefined);
    assert.equal(rig.spares.reserve(wanted, "guest"), wanted);
    const other = { ...wanted, revision: "f".repeat(40) };
    assert.equal(rig.spares.reserve(other, ""), other);
    const again = { ...wanted, retrySetup: true };
    assert.equal(rig.spares.reserve(again, ""), again);
    assert.equal(rig.spares.reserve(wanted, "").workspace, spare);
    assert.equal(rig.started.length, 1);
  });

  it("prepares one more while a session waits for the one before, and not for each of many", async () => {
    await using rig = await Rig.open();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const asked: number[] = [];
    rig.starting = () => {
      asked.push(asked.length);
      return released;
    };
    await rig.beginAndEnd("one", "one");
    while (asked.length < 1) await pause(5);
    const third = rig.begin();
    while (asked.length < 2) await pause(5);
    const fourth = rig.begin();
    await using fifth = (await rig.begin()).session;
    release();
    await using _three = (await third).session;
    await using _four = (await fourth).session;
    assert.ok(fifth.settings);
    // The fifth found none, and has prepared one for the next.
    await rig.prepared(3);
    assert.deepEqual(rig.started.slice(0, 2), [
      (await third).plan.workspace,
      (await fourth).plan.workspace,
    ]);
    assert.equal(asked.length, 3);
  });

  it("ends the spare of another agent, and the session begins as any other", async () => {
    await using rig = await Rig.open();
    await rig.beginAndEnd("one", "one");
    const spare = await rig.prepared(1);
    const { plan, session } = await rig.begin("two");
    await using _ = session;
    assert.equal(plan.workspace, spare);
    assert.ok(rig.ended.includes(`one in ${spare}`));
    assert.equal(readFileSync(join(rig.sample.runs.treeOf(plan), "README.md"), "utf8"), "hello\n");
  });

  it("begins a session without one that could not be prepared", async () => {
    await using rig = await Rig.open({ log: new Log("error", () => {}) });
    rig.starting = () => Promise.reject(new Error("no agent"));
    await rig.beginAndEnd("one", "one");
    const { plan, session } = await rig.begin();
    await using _ = session;
    assert.equal(readFileSync(join(rig.sample.runs.treeOf(plan), "README.md"), "utf8"), "hello\n");
  });

  it("keeps as many as are configured, and removes all of the others", async () => {
    await using rig = await Rig.open({ most: 1 });
    await rig.beginAndEnd("one", "one");
    await rig.prepared(1);
    await rig.beginAndEnd("two", "two");
    const kept = await rig.prepared(2);
    const [first = ""] = rig.started;
    while (rig.workspaces.includes(first)) await pause(5);
    assert.ok(rig.ended.includes(`one in ${first}`));
    assert.deepEqual(rig.workspaces, [kept]);
    await rig.spares[Symbol.asyncDispose]();
    assert.deepEqual(rig.workspaces, []);
    const live = "refs/trunkline/live";
    const cache = join(rig.sample.folder, "run/cache");
    for (const key of readdirSync(cache)) {
      assert.deepEqual(readdirSync(join(cache, key, "git", live)), []);
    }
  });

  it("ends at once what was prepared for a principal whose access has ended, and nothing of others", async () => {
    await using rig = await Rig.open();
    const twice = async (owner: string): Promise<void> => {
      for (const { plan, session } of [
        await rig.begin("one", owner),
        await rig.begin("one", owner),
      ]) {
        await session[Symbol.asyncDispose]();
        await rig.sample.runs.remove(plan);
      }
    };
    await twice("guest");
    const guests = await rig.prepared(1);
    await twice("");
    const owners = await rig.prepared(2);
    rig.spares.endOf("guest");
    while (rig.workspaces.includes(guests)) await pause(5);
    assert.ok(rig.ended.includes(`one in ${guests}`));
    assert.deepEqual(rig.workspaces, [owners]);
    // A session of it that was just beginning prepares nothing any more.
    const { url, revision } = rig.sample.runs.plan(rig.sample.meta)!;
    const ref = { url, revision } as SpareRequest["ref"];
    rig.spares.begun({ ref, agent: "one", owner: "guest" });
    const wanted = rig.sample.runs.plan(rig.sample.meta)!;
    assert.equal(rig.spares.reserve(wanted, "guest"), wanted);
    assert.equal(rig.spares.reserve(wanted, "").workspace, owners);
  });

  it("does not wait for an agent that does not start", async () => {
    await using rig = await Rig.open();
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { promise: started, reject } = Promise.withResolvers<void>();
    rig.starting = () => {
      resolve();
      return started;
    };
    await rig.beginAndEnd("one", "one");
    await asked;
    rig.ending = () => reject(new Error("It has ended"));
    await rig.spares[Symbol.asyncDispose]();
    assert.deepEqual(rig.workspaces, []);
  });

  it("removes one that nobody takes in time", async () => {
    const removed: string[] = [];
    await using sample = await SampleRuns.open();
    const remove = async (plan: RunPlan): Promise<void> => {
      await sample.runs.remove(plan);
      removed.push(plan.workspace);
    };
    await using rig = new Rig(sample, { holds: 50, remove });
    await rig.beginAndEnd("one", "one");
    while (removed.length === 0) await pause(5);
    assert.deepEqual(rig.workspaces, []);
  });
});

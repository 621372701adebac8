import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { addFile, RunAgentRig } from "../../test/samples/run-agent-rig.ts";
import { git } from "../../test/samples/sample-runs.ts";
import { covers } from "../../test/support/requirement.ts";
import { TrunklineError } from "../base/errors.ts";

describe("a run whose workspace is not ready yet", () => {
  it("answers in time though its workspace takes longer, and works when that is ready", async () => {
    covers("run.connection.timeout");
    await using rig = await RunAgentRig.open();
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = { answerWithin: 1, isReady: () => promise };
    await using session = await rig.session(addFile, undefined, [], slow);
    const { target: planned } = session.settings._meta as { target: { branch: string } };
    const prompted = session.prompt(rig.turn("Add"));
    resolve();
    const { target } = (await prompted)._meta as { target: { branch: string } };
    assert.equal(target.branch, planned.branch);
    assert.equal(git(rig.remote, "show", `${target.branch}:new.txt`), "new");
  });

  it("answers sooner when it is opened again, and prepares a workspace again that had failed", async () => {
    await using rig = await RunAgentRig.open();
    const begun = Promise.withResolvers<void>();
    let attempts = 0;
    const isReady = async (): Promise<void> => {
      await begun.promise;
      if (++attempts === 1) throw new Error("The agent is away");
    };
    const again = { reopenWithin: 1, isReady, history: (async function* () {})() };
    await using session = await rig.session(addFile, undefined, [], again);
    const first = session.prompt(rig.turn("Add"));
    begun.resolve();
    await assert.rejects(first, /The agent is away/);
    assert.match(JSON.stringify(rig.updates), /could not be prepared: The agent is away/);
    const { target } = (await session.prompt(rig.turn("Add")))._meta as {
      target: { branch: string };
    };
    assert.equal(git(rig.remote, "show", `${target.branch}:new.txt`), "new");
    assert.equal(attempts, 2);
  });

  it("knows at once what was pushed, before the process that takes over has its files", async () => {
    await using rig = await RunAgentRig.open();
    const plan = rig.runs.plan(rig.meta);
    type Meta = { readonly target: { readonly revision: string } };
    let pushed = "";
    {
      await using session = await rig.session(addFile, plan);
      pushed = ((await session.prompt(rig.turn("Add")))._meta as Meta).target.revision;
    }
    assert.notEqual(pushed, rig.revision);
    const { promise, resolve } = Promise.withResolvers<void>();
    const again = { reopenWithin: 1, isReady: () => promise, history: (async function* () {})() };
    await using session = await rig.session(addFile, plan, [], again);
    assert.equal((session.settings._meta as unknown as Meta).target.revision, pushed);
    resolve();
  });

  it("names no folder of the server when that fails", async () => {
    await using rig = await RunAgentRig.open();
    const isReady = async (): Promise<void> => {
      const says = `Cannot copy the base: '${join(rig.folder, "run/bases/x")}' is full`;
      throw new TrunklineError("unavailable", says);
    };
    await assert.rejects(rig.session(addFile, undefined, [], { isReady }), {
      code: "unavailable",
      message: "Cannot copy the base: '…/bases/x' is full",
    });
  });

  it("prepares no workspace again when it has ended", async () => {
    await using rig = await RunAgentRig.open();
    const [asked, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let attempts = 0;
    const isReady = async (): Promise<void> => {
      attempts++;
      asked.resolve();
      await begun.promise;
    };
    const again = { reopenWithin: 1, isReady, history: (async function* () {})() };
    const session = await rig.session(addFile, undefined, [], again);
    const waiting = session.prompt(rig.turn("Add"));
    await asked.promise;
    const ended = session[Symbol.asyncDispose]();
    begun.reject(new Error("The agent is away"));
    await assert.rejects(waiting);
    await assert.rejects(session.prompt(rig.turn("Add")));
    await ended;
    assert.equal(attempts, 1);
  });
});

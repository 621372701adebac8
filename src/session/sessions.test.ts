import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";

import { AcpHouse, type Json } from "../../test/support/acp-house.ts";
import { DiskFaults } from "../../test/support/disk-faults.ts";
import { chunk, promptText } from "../../test/support/scripted-agent.ts";
import { TrunklineError } from "../base/errors.ts";

describe("Sessions", { timeout: 60_000 }, () => {
  it("can be forked with all events, and then develop separately", async () => {
    await using house = await AcpHouse.open({
      script: (turn) => turn.update(chunk(promptText(turn))),
    });
    const { client, sessionId } = await house.client();
    await client.prompt(sessionId, "one");
    const { sessionId: forked } = await client.ask("session/fork", { sessionId, cwd: "/tmp" });
    await client.prompt(String(forked), "two");
    const reader = house.connect();
    await reader.initialize();
    await reader.ask("session/load", { sessionId: forked, cwd: "/tmp", mcpServers: [] });
    assert.equal(reader.text, "onetwo");
    const first = house.connect();
    await first.initialize();
    await first.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.equal(first.text, "one");
  });

  it("keep chosen settings over a restart", async () => {
    await using house = await AcpHouse.open();
    const { client, sessionId } = await house.client();
    await client.ask("session/set_mode", { sessionId, modeId: "architect" });
    await client.ask("session/set_model", { sessionId, modelId: "openai/gpt-4" });
    await house.stop();
    await house.start();
    const later = house.connect();
    await later.initialize();
    const loaded = await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.equal(loaded.modes.currentModeId, "architect");
    assert.equal(loaded.models.currentModelId, "openai/gpt-4");
  });

  it("are left when another process has taken them over: the turn ends, and the prompt says so", async () => {
    const started = Promise.withResolvers<void>();
    await using house = await AcpHouse.open({
      script: async (turn) => {
        started.resolve();
        await once(turn.stop.signal, "abort");
      },
    });
    const { client, sessionId } = await house.client();
    const prompt = client.prompt(sessionId, "work");
    await started.promise;
    await house.sessions.abandon(sessionId);
    await assert.rejects(prompt, (error: Json) => {
      assert.match(error.data.details, /^Another Trunkline has taken session .* was interrupted/);
      return error.data.interrupted === true;
    });
    assert.equal(house.sessions.get(sessionId), undefined);
    await house.sessions.abandon(sessionId);
  });

  it("are not opened if another process takes them over while their agent starts", async () => {
    await using house = await AcpHouse.open();
    const { client, sessionId } = await house.client();
    await client.prompt(sessionId, "one");
    await house.sessions.close(sessionId);
    const open = house.agent.open.bind(house.agent);
    const [asked, started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    house.agent.open = async (options) => {
      asked.resolve();
      await started.promise;
      return await open(options);
    };
    const setup = { cwd: "/tmp", additionalDirectories: [], mcpServers: [] };
    const opening = house.sessions.open(sessionId, setup);
    await asked.promise;
    const left = house.sessions.abandon(sessionId);
    started.resolve();
    // Whoever waited for it must not get the state from before.
    await assert.rejects(opening, { code: "unavailable" });
    await left;
    assert.equal(house.sessions.get(sessionId), undefined);
    house.agent.open = open;
    assert.equal((await house.sessions.open(sessionId, setup)).id, sessionId);
  });

  it("show no old state to a client that has seen more elsewhere while nobody knows who has them", async () => {
    await using house = await AcpHouse.open();
    const { client, sessionId } = await house.client();
    await client.prompt(sessionId, "one");
    const { last } = house.sessions.get(sessionId) ?? { last: 0 };
    assert.ok(last > 0);
    const confirm = async (_: string, isBehind: boolean): Promise<void> => {
      if (isBehind) throw new TrunklineError("unavailable", "NATS is away.");
    };
    Object.assign(house.log, { confirm });
    const later = house.connect();
    await later.initialize();
    const resume = (after: number): Promise<unknown> =>
      later.ask("session/resume", {
        ...{ sessionId, cwd: "/tmp", mcpServers: [] },
        _meta: { trunkline: { after } },
      });
    await assert.rejects(resume(last + 1), /NATS is away/);
    await resume(last);
  });

  it("ends an agent that starts while the program stops", async () => {
    await using house = await AcpHouse.open();
    const { client } = await house.client();
    const open = house.agent.open.bind(house.agent);
    const [asked, started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let ended = 0;
    house.agent.open = async (options) => {
      asked.resolve();
      await started.promise;
      const worker = await open(options);
      const end = worker[Symbol.asyncDispose].bind(worker);
      worker[Symbol.asyncDispose] = async () => {
        ended++;
        await end();
      };
      return worker;
    };
    client.ask("session/new", { cwd: "/tmp", mcpServers: [] }).catch(() => {});
    await asked.promise;
    const stopped = house.stop();
    started.resolve();
    await stopped;
    assert.equal(ended, 1);
    house.agent.open = open;
    await house.start();
  });

  it("leaves no session behind that could not be begun or forked, also when it cannot be removed", async () => {
    await using house = await AcpHouse.open();
    using disk = new DiskFaults(house.folder.path);
    const { client, sessionId } = await house.client();
    const open = house.agent.open.bind(house.agent);
    house.agent.open = async () => {
      // What was begun cannot be removed at first.
      let failures = 0;
      disk.decide = ({ operation }) => {
        return operation === "BEGIN IMMEDIATE" && failures++ < 1 ? "ENOSPC" : undefined;
      };
      throw new TrunklineError("unavailable", "The agent does not start");
    };
    const place = { cwd: "/tmp", mcpServers: [] };
    await assert.rejects(client.ask("session/new", place), /does not start/);
    await assert.rejects(client.ask("session/fork", { sessionId, ...place }), /does not start/);
    house.agent.open = open;
    disk.decide = ({ operation }) => (operation === "BEGIN IMMEDIATE" ? "ENOSPC" : undefined);
    const seen = await client.ask("session/list", {});
    assert.equal((seen["sessions"] as unknown[]).length, 1);
    disk.decide = () => undefined;
    const { sessions } = await client.ask("session/list", {});
    assert.deepEqual(
      (sessions as { sessionId: string }[]).map((session) => session.sessionId),
      [sessionId],
    );
    await house.stop();
    await house.start();
    assert.equal((await house.log.list()).length, 1);
  });

  it("can be deleted on a full disk, where what is removed first makes room for the rest", async () => {
    await using house = await AcpHouse.open();
    const { client, sessionId } = await house.client();
    await client.ask("session/close", { sessionId });
    using disk = new DiskFaults(house.folder.path);
    let failures = 0;
    disk.decide = ({ operation }) =>
      operation === "BEGIN IMMEDIATE" && failures++ < 1 ? "ENOSPC" : undefined;
    await client.ask("session/delete", { sessionId });
    assert.deepEqual(await house.log.list(), []);
    const place = { cwd: "/tmp", mcpServers: [] };
    const { sessionId: other } = await client.ask("session/new", place);
    await client.ask("session/close", { sessionId: other });
    disk.decide = ({ operation }) => (operation === "BEGIN IMMEDIATE" ? "ENOSPC" : undefined);
    const never = client.ask("session/delete", { sessionId: other });
    await assert.rejects(never, /disk is full\. Free some space/);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../../test/support/acp-app.ts";
import { chunk, promptText } from "../../../test/support/scripted-agent.ts";
import { until } from "../../../test/support/until.ts";
import type { EndEvent, SessionEvent } from "../event.ts";
import type { Session } from "../session.ts";
import type { Notes } from "../session-notes.ts";
import type { SessionStore } from "../store.ts";
import { recover } from "./recover.ts";
import type { PermissionRequest } from "../permission/permission.ts";

describe("a turn whose process died", { timeout: 600_000 }, () => {
  it("is reported as interrupted", async () => {
    const tool = { sessionUpdate: "tool_call", toolCallId: "t", title: "Long", status: "pending" };
    await using app = await AcpApp.open({
      script: async (turn) => {
        await turn.update(chunk("half"));
        await turn.update(tool);
        await new Promise(() => {});
      },
    });
    const { client, sessionId } = await app.client();
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "Hello" }] });
    await client.find(({ params }) => params?.update?.sessionUpdate === "tool_call");
    // Another app finds what this one left, as after a SIGKILL.
    const { sessions, log } = app;
    await app.start();
    const later = app.connect();
    await later.initialize({ session: { notices: {} } });
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.deepEqual(
      later.updates.map(({ sessionUpdate, status }) => [sessionUpdate, status]),
      [
        ["user_message_chunk", undefined],
        ["agent_message_chunk", undefined],
        ["tool_call", "pending"],
        ["tool_call_update", "failed"],
        ["notice", undefined],
        ["available_commands_update", undefined],
      ],
    );
    const plain = app.connect();
    await plain.initialize();
    await plain.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.match(plain.text, /^half\n\n\[This turn was interrupted: .*\]\n\n$/);
    const history = [];
    for await (const entries of app.agent.sessions[1]?.options.history ?? []) {
      history.push(
        ...entries.map((entry) => (entry.kind === "end" ? entry.stopReason : entry.kind)),
      );
    }
    assert.ok(history.includes("interrupted"));
    void sessions;
    log.database[Symbol.dispose]();
  });

  const requestFor = (title: string): PermissionRequest => ({
    toolCall: { toolCallId: "t", title, kind: "execute" },
    options: [
      { optionId: "yes", name: "Yes", kind: "allow_once" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ],
  });

  /** A program whose agent asks for permission to do what the prompt says, and says how that ended. */
  const asking = (): Promise<AcpApp> =>
    AcpApp.open({
      script: async (turn) => {
        const outcome = await turn.requestPermission(requestFor(promptText(turn)));
        await turn.update(chunk(JSON.stringify(outcome)));
      },
    });

  const selected = (optionId: string) => ({
    result: { outcome: { outcome: "selected", optionId } },
  });

  /** Begins a turn that asks, and leaves it behind as a killed process does. */
  const leave = async (app: AcpApp, title: string): Promise<string> => {
    const { client, sessionId } = await app.client();
    client.answer = () => undefined;
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: title }] });
    await client.request("session/request_permission");
    const { log } = app;
    await app.start();
    log.database[Symbol.dispose]();
    return sessionId;
  };

  it("still asks for the permission, and the answer counts for the next turn", async () => {
    await using app = await asking();
    const sessionId = await leave(app, "Remove all");
    const later = app.connect();
    await later.initialize();
    let asked = 0;
    const answered = Promise.withResolvers<void>();
    later.answer = () => {
      asked++;
      answered.resolve();
      return selected("no");
    };
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await answered.promise;
    await later.prompt(sessionId, "Remove all");
    assert.equal(asked, 1);
    assert.match(later.text, /"optionId":"no"/);
    // It counts once.
    await later.prompt(sessionId, "Remove all");
    assert.equal(asked, 2);
  });

  it("asks again what another turn does not repeat, and forgets the old request then", async () => {
    await using app = await asking();
    const sessionId = await leave(app, "Remove all");
    const later = app.connect();
    await later.initialize();
    const titles: string[] = [];
    later.answer = ({ params }) => {
      titles.push(params.toolCall.title);
      return params.toolCall.title === "Remove all" ? undefined : selected("yes");
    };
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await later.request("session/request_permission");
    await later.prompt(sessionId, "Remove one");
    assert.deepEqual(titles, ["Remove all", "Remove one"]);
    assert.match(later.text, /"optionId":"yes"/);
    assert.equal((await app.log.find(sessionId))?.notes.permission, undefined);
  });

  it("keeps the request also where the program stops twice before anybody answers", async () => {
    await using app = await asking();
    const sessionId = await leave(app, "Remove all");
    for (const _ of [1, 2]) {
      const watcher = app.connect();
      await watcher.initialize();
      watcher.answer = () => undefined;
      await watcher.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
      await watcher.request("session/request_permission");
      await app.stop();
      await app.start();
    }
    const { permission } = (await app.log.find(sessionId))?.notes ?? {};
    assert.equal(
      (permission as { request?: PermissionRequest }).request?.toolCall.title,
      "Remove all",
    );
  });

  it("keeps the request of a turn that is interrupted because the program stops", async () => {
    await using app = await asking();
    const { client, sessionId } = await app.client();
    client.answer = () => undefined;
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "Remove all" }] });
    await client.request("session/request_permission");
    await app.stop();
    await app.start();
    const later = app.connect();
    await later.initialize();
    later.answer = () => selected("yes");
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const { params } = await later.request("session/request_permission");
    assert.equal(params.toolCall.title, "Remove all");
  });

  it("asks for the permission while nothing can be noted", async () => {
    await using app = await asking();
    const sessionId = await leave(app, "Remove all");
    const first = app.connect();
    await first.initialize();
    first.answer = () => undefined;
    await first.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await first.request("session/request_permission");
    await app.stop();
    await app.start();
    const write = app.log.describe.bind(app.log);
    app.log.describe = async () => await Promise.reject(new Error("The store is away"));
    const later = app.connect();
    await later.initialize();
    later.answer = () => undefined;
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const { params } = await later.request("session/request_permission");
    assert.equal(params.toolCall.title, "Remove all");
    app.log.describe = write;
  });

  it("is looked for only in what was said since it began", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        await turn.update(chunk("said"));
        if (promptText(turn) === "Wait") await new Promise(() => {});
      },
    });
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "Hello");
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "Wait" }] });
    await until(() => client.text === "saidsaid");
    const { log } = app;
    const { notes = {} } = (await log.find(sessionId)) ?? {};
    const read: unknown[] = [];
    const store = {
      async *read(id: string, after: number) {
        for await (const batch of log.read(id, after)) {
          read.push(...batch.map(({ message }) => (message as SessionEvent).kind));
          yield batch;
        }
      },
    } as unknown as SessionStore;
    const interrupted: unknown[] = [];
    const session = {
      id: sessionId,
      notes,
      interrupt: async ({ turnId }: EndEvent) => void interrupted.push(turnId),
    } as unknown as Session;
    await recover(store, session);
    assert.deepEqual(read, ["prompt", "update"]);
    assert.deepEqual(interrupted, [notes.turn]);
  });

  const request = { toolCall: { toolCallId: "t", title: "Remove all" }, options: [] };
  const prompted = { kind: "prompt", turnId: "t", prompt: [], by: "x" };
  const asked = { kind: "permission", turnId: "t", requestId: "r", request };
  const ended = { kind: "end", turnId: "t", stopReason: "interrupted" };
  const answered = { kind: "answer", requestId: "r", outcome: { outcome: "cancelled" }, by: "x" };

  /** Recovers the turn "t" of a session with these events. Returns the question, and what was done. */
  const recovered = async (events: readonly object[], notes: Notes) => {
    const store = {
      async *read() {
        for (const [at, message] of events.entries()) yield { seq: at + 1, message };
      },
    } as unknown as SessionStore;
    const did: string[] = [];
    const session = {
      notes: { turn: "t", ...notes },
      keepQuestion: async ({ requestId }: { requestId: string }) => void did.push(requestId),
      interrupt: async () => void did.push("interrupted"),
    } as unknown as Session;
    const question = await recover(store, session);
    return { question: question?.requestId, did };
  };

  it("notes the request before it ends the turn, since it may be killed in between", async () => {
    const { question, did } = await recovered([prompted, asked], {});
    assert.equal(question, "r");
    assert.deepEqual(did, ["r", "interrupted"]);
  });

  it("asks what was noted, where the one who ended the turn was killed before he noted that", async () => {
    const permission = { requestId: "r", request };
    const whole = await recovered([prompted, asked, ended], { permission });
    assert.deepEqual(whole, { question: "r", did: [] });
    const withdrawn = await recovered([prompted, asked, answered, ended], { permission });
    assert.deepEqual(withdrawn, { question: undefined, did: [] });
    // The agent failed: nobody needs the answer.
    const failed = await recovered([prompted, asked, ended], {});
    assert.deepEqual(failed, { question: undefined, did: [] });
  });

  it("asks what an earlier turn had asked, where the next one has not begun or withdrawn it", async () => {
    const permission = { requestId: "r", request };
    assert.equal((await recovered([], { permission })).question, "r");
    assert.equal((await recovered([answered], { permission })).question, undefined);
    assert.equal((await recovered([prompted], { permission })).question, "r");
    assert.equal((await recovered([answered, prompted], { permission })).question, undefined);
  });
});

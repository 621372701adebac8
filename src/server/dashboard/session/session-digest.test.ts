import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../../test/samples/sample-folder.ts";
import type { SessionEvent } from "../../../session/event.ts";
import { SessionLog } from "../../../store/session/session-log.ts";
import { type ReadSession, SessionReader } from "../../../store/session/session-reader.ts";
import { SessionDigest, digestsOf } from "./session-digest.ts";
import { askOf } from "./session-rows.ts";

const PROMPT: SessionEvent = { kind: "prompt", turnId: "t", prompt: [], by: "zed" };
const CHUNK: SessionEvent = { kind: "update", update: { sessionUpdate: "agent_message_chunk" } };
const ASK: SessionEvent = {
  kind: "permission",
  turnId: "t",
  requestId: "r",
  request: { toolCall: { toolCallId: "c" }, options: [] },
};
const ANSWER: SessionEvent = {
  kind: "answer",
  requestId: "r",
  outcome: { outcome: "cancelled" },
  by: "zed",
};
const END: SessionEvent = { kind: "end", turnId: "t", stopReason: "end_turn" };

const OPTION = { id: "effort", name: "Effort", type: "select", currentValue: "low" };

function digestOf(...events: SessionEvent[]): SessionDigest {
  const digest = new SessionDigest();
  for (const [at, message] of events.entries()) {
    digest.read({ seq: at + 1, at, direction: "agent", message });
  }
  return digest;
}

/** As much of a session as tells what is asked. */
function held(notes: object): ReadSession {
  return { notes, holder: "h" } as unknown as ReadSession;
}

function told(says: string, meta: object): SessionEvent {
  const content = { type: "text", text: says };
  return {
    kind: "update",
    update: { sessionUpdate: "agent_message_chunk", content, _meta: { ...meta } },
  };
}

describe("what the events of a session say", () => {
  it("has a permission until it is answered or its turn ends", () => {
    const asked = (...events: SessionEvent[]): number =>
      digestOf(...events).asked(held({ turn: "t" })).length;
    assert.equal(asked(PROMPT, ASK, CHUNK), 1);
    assert.equal(asked(PROMPT, ASK, ANSWER), 0);
    assert.equal(asked(PROMPT, ASK, END), 0);
    assert.equal(asked(PROMPT, ASK, { ...PROMPT, steers: true }), 1);
    const left = { ...held({ turn: "t" }), holder: undefined };
    assert.equal(digestOf(PROMPT, ASK).asked(left).length, 0);
  });

  it("has a permission again that nobody had answered when its turn was interrupted", () => {
    const interrupted = [PROMPT, ASK, { ...END, stopReason: "interrupted" }] as const;
    const asked = (notes: object, ...more: SessionEvent[]): number =>
      digestOf(...interrupted, ...more).asked(held(notes)).length;
    const again = { permission: { requestId: "r" } };
    assert.equal(asked(again), 1);
    assert.equal(asked(again, ANSWER), 0);
    assert.equal(asked({ ...again, turn: "t2" }, { ...PROMPT, turnId: "t2" }), 0);
    assert.equal(asked({}), 0);
    assert.equal(asked({ permission: { requestId: "another" } }), 0);
  });

  it("asks for a permission without the secrets that an agent has put into it, by the same ids", () => {
    const secret = `ghp_${"a1".repeat(18)}`;
    const always = {
      optionId: secret,
      name: `Always: push ${secret}`,
      kind: "allow_always",
    } as const;
    const request = { toolCall: { toolCallId: "c", title: `push ${secret}` }, options: [always] };
    const [pending] = digestOf(PROMPT, { ...ASK, request }).asked(held({ turn: "t" }));
    assert.ok(pending);
    const { toolCall, options } = askOf(pending);
    assert.doesNotMatch(JSON.stringify([toolCall, options?.map(({ name }) => name)]), /ghp_/);
    assert.equal(options?.[0]?.optionId, secret);
  });

  it("has the last client, usage, plan, mode and end", () => {
    const used = {
      sessionUpdate: "usage_update",
      used: 5,
      size: 10,
      cost: { amount: 0.5, currency: "EUR" },
    };
    const digest = digestOf(
      PROMPT,
      { kind: "update", update: used },
      {
        kind: "update",
        update: { sessionUpdate: "plan", entries: [{ content: "a", status: "done" }] },
      },
      { kind: "setting", setting: "mode", id: "ask" },
      END,
    );
    const { client, context, cost, mode, ended, plan } = digest;
    assert.deepEqual(
      { client, context, cost, mode, ended },
      {
        client: "zed",
        context: { used: 5, size: 10 },
        cost: { amount: 0.5, currency: "EUR" },
        mode: "ask",
        ended: "end_turn",
      },
    );
    assert.equal(plan.length, 1);
  });

  it("has the last value of an option, whichever way it was chosen", () => {
    const digest = new SessionDigest();
    let seq = 0;
    const read = (message: object): void =>
      digest.read({ seq: ++seq, at: 0, direction: "client", message });
    const mode = { ...OPTION, id: "how", category: "mode" };
    assert.deepEqual([digest.valueOf(OPTION), digest.valueOf(mode)], ["low", "low"]);
    read({ kind: "setting", setting: "option", id: "effort", value: "high" });
    read({ kind: "setting", setting: "option", id: "how", value: "ask" });
    assert.deepEqual([digest.valueOf(OPTION), digest.valueOf(mode)], ["high", "ask"]);
    read({ kind: "setting", setting: "mode", id: "code" });
    assert.deepEqual([digest.valueOf(OPTION), digest.valueOf(mode)], ["high", "code"]);
    const update = { sessionUpdate: "config_option_update", configOptions: [OPTION] };
    read({ kind: "update", update });
    assert.equal(digest.valueOf(OPTION), "low", "the agent has said all of it anew");
  });

  it("tells what a remote run says of itself from what its agent says", () => {
    const digest = digestOf(PROMPT, told("Fetching …\n", { trunkline: { run: "progress" } }));
    assert.deepEqual([digest.progress, digest.isWorking], ["Fetching …", false]);
    const pushed = digestOf(
      PROMPT,
      CHUNK,
      told("\n\n_Pushed agent/x at 0123456789ab._\n", { "trunkline/aside": true }),
    );
    assert.equal(pushed.pushed, "0123456789ab");
  });

  it("finds what a running turn asks, however much was said since, and goes on from there", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    using reader = await SessionReader.open(folder.path);
    const id = crypto.randomUUID();
    const { key } = await log.create({ id, cwd: "/", agent: "a", notes: { turn: "t" } });
    const add = (event: SessionEvent): Promise<void> =>
      log.append(key, "agent", JSON.stringify(event)).stored;
    await Promise.all([add(PROMPT), add(ASK), ...Array.from({ length: 1_000 }, () => add(CHUNK))]);
    const digests = digestsOf(reader);
    const at = async () => {
      const found = await reader.find(id);
      assert.ok(found !== undefined);
      const digest = await digests.of(found);
      return digest.asked({ ...found, holder: "h" }).length;
    };
    assert.equal(await at(), 1);
    await add(ANSWER);
    assert.equal(await at(), 0);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { rawText, trafficOf } from "./session-traffic.ts";
import { TrafficRing } from "./traffic-ring.ts";

const ALL = { from: 0, limit: 100 };
const text = (message: object): string => JSON.stringify({ jsonrpc: "2.0", ...message });

describe("the traffic of a session", () => {
  it("has what names the session, what answers it, and the stderr of its agent", () => {
    const ring = new TrafficRing();
    const editor = ring.connection("client", "client");
    const agent = ring.connection("agent", "claude");
    const other = ring.connection("client", "client");
    editor.message(
      text({ id: 0, method: "initialize", params: { clientInfo: { name: "Zed" } } }),
      "in",
    );
    editor.message(text({ id: 1, method: "session/new", params: {} }), "in");
    agent.message(text({ id: 7, method: "session/new", params: {} }), "out");
    agent.message(text({ id: 7, result: { sessionId: "theirs" } }), "in");
    editor.message(text({ id: 1, result: { sessionId: "ours" } }), "out");
    agent.line("a warning");
    other.message(
      text({ id: 1, method: "session/prompt", params: { sessionId: "another" } }),
      "in",
    );
    other.message(text({ id: 1, error: { code: 1 } }), "out");
    const update = { sessionUpdate: "agent_message_chunk" };
    agent.message(
      text({ method: "session/update", params: { sessionId: "theirs", update } }),
      "in",
    );

    const { rows, last } = trafficOf(ring, ["ours", "theirs"], ALL);
    const shown = rows.map(({ n, lane, peer, direction, kind, method, pair }) =>
      [n, lane, peer, direction, kind, method, pair].join(" "),
    );
    assert.deepEqual(shown, [
      "2 client Zed in request session/new 5",
      "3 agent claude out request session/new 4",
      "4 agent claude in response session/new 3",
      "5 client Zed out response session/new 2",
      "6 stderr claude in line  ",
      "9 agent claude in notification session/update ",
    ]);
    assert.equal(rows.at(-1)?.update, "agent_message_chunk");
    assert.equal(typeof rows[2]?.latency, "number");
    assert.equal(last, 9);
    assert.equal(trafficOf(ring, ["ours"], { from: 6, limit: 9 }).rows.length, 0);
    assert.equal(rawText(ring, ["ours", "theirs"], 7), undefined, "another session's");
  });

  it("is not deceived by a text that quotes a session's id", () => {
    const ring = new TrafficRing();
    const editor = ring.connection("client", "client");
    const quoted = 'see "sessionId":"ours"';
    editor.message(text({ method: "x", params: { sessionId: "another", quoted } }), "in");
    assert.equal(trafficOf(ring, ["ours"], ALL).rows.length, 0);
  });

  it("masks the secrets of a message, and shows all else", () => {
    const ring = new TrafficRing();
    const editor = ring.connection("client", "client");
    const env = [{ name: "API_KEY", value: "planted" }];
    const words = "word ".repeat(2_000);
    editor.message(
      text({ method: "session/load", params: { sessionId: "ours", env, words } }),
      "in",
    );
    const raw = rawText(ring, ["ours"], 1) ?? "";
    assert.doesNotMatch(raw, /planted/);
    assert.ok(raw.includes(words));
  });

  it("masks a message that is too deep to be read as JSON as a text", () => {
    const ring = new TrafficRing();
    const editor = ring.connection("client", "client");
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    editor.message(`{"method":"x","params":{"sessionId":"ours","deep":${deep}}}`, "in");
    assert.match(rawText(ring, ["ours"], 1) ?? "", /"sessionId":"ours"/);
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";

import type { TrafficRow } from "../../server/dashboard/session-api.ts";
import { filterTraffic, foldTraffic } from "./traffic-rows.ts";

let n = 0;
function row(fields: Partial<TrafficRow> = {}): TrafficRow {
  n++;
  return {
    ...{ n, at: n, lane: "agent", peer: "fake", direction: "in", kind: "notification", size: 10 },
    ...fields,
  };
}
const chunk = (fields: Partial<TrafficRow> = {}): TrafficRow =>
  row({ method: "session/update", update: "agent_message_chunk", ...fields });

test("foldTraffic() folds runs of chunks of one lane and direction, and nothing else", () => {
  const rows = [
    ...[chunk(), chunk(), chunk({ lane: "client", direction: "out" }), chunk()],
    ...[row({ kind: "request", method: "session/prompt" }), chunk({ update: "tool_call" })],
    ...[chunk({ update: "tool_call" }), row({ kind: "line", lane: "stderr", text: "warn" })],
  ];
  const groups = foldTraffic(rows);
  assert.deepEqual(
    groups.map(({ count }) => count),
    [2, 1, 1, 1, 1, 1, 1],
  );
  assert.deepEqual([groups[0]?.first, groups[0]?.last, groups[0]?.size], [rows[0], rows[1], 20]);
});

test("filterTraffic() keeps the chosen lanes and the rows that have the words", () => {
  const rows = [row({ method: "session/prompt" }), row({ lane: "stderr", text: "Bad Prompt" })];
  assert.equal(filterTraffic(rows, new Set(["agent", "stderr"]), "prompt").length, 2);
  assert.deepEqual(filterTraffic(rows, new Set(["stderr"]), "prompt bad"), [rows[1]]);
  assert.deepEqual(filterTraffic(rows, new Set(["client"]), ""), []);
});

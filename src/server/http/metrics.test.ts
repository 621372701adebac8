import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Metrics } from "./metrics.ts";

const COUNTED = {
  sessions: { running: 1, idle: 2 },
  spans: { exported: 5, dropped: 3 },
  fleet: {
    isConnected: true,
    nodes: { gateway: 2, worker: 3 },
    slots: { used: 4, free: 5 },
    waiting: 6,
    moves: 7,
    sessions: { running: 1, idle: 2 },
  },
};

describe("Metrics", () => {
  it("counts each series separately, and decreases a gauge", () => {
    const metrics = new Metrics();
    metrics.httpRequest("/mcp", 200);
    metrics.httpRequest("/mcp", 200);
    metrics.httpRequest("/mcp", 401);
    metrics.connection("acp", "opened");
    metrics.connection("acp", "opened");
    metrics.connection("acp", "closed");
    const lines = metrics.render(COUNTED).split("\n");
    for (const line of [
      'trunkline_http_requests_total{route="/mcp",status="200"} 2',
      'trunkline_http_requests_total{route="/mcp",status="401"} 1',
      'trunkline_connections_total{door="acp"} 2',
      'trunkline_connections_open{door="acp"} 1',
      'trunkline_sessions{state="running"} 1',
      'trunkline_telemetry_spans_total{outcome="dropped"} 3',
      "trunkline_fleet_connected 1",
      'trunkline_fleet_nodes{role="worker"} 3',
      'trunkline_fleet_slots{state="free"} 5',
      "trunkline_fleet_waiting 6",
      "trunkline_fleet_moves_total 7",
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });

  it("has the format of Prometheus: every sample after the help and type of its name", () => {
    const metrics = new Metrics();
    metrics.connection("mcp", "opened");
    metrics.work.requests("mcp")({
      method: "tools/list",
      params: {},
      state: {},
      milliseconds: 1,
      result: {},
    });
    const text = metrics.render(COUNTED);
    assert.ok(text.endsWith("\n"));
    let name: string | undefined;
    for (const line of text.trimEnd().split("\n")) {
      const [, kind, declared] = /^# (HELP|TYPE) (\w+) /.exec(line) ?? [];
      if (kind === "HELP") name = declared;
      else if (kind === "TYPE") assert.equal(declared, name);
      else
        assert.match(
          line,
          new RegExp(
            String.raw`^${name}(?:_bucket|_sum|_count)?(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? -?[\d.e+-]+$`,
          ),
        );
    }
  });
});

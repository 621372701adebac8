import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Metrics } from "./metrics.ts";

describe("Metrics", () => {
  it("counts each series separately, and decreases a gauge", () => {
    const metrics = new Metrics();
    metrics.httpRequest("/mcp", 200);
    metrics.httpRequest("/mcp", 200);
    metrics.httpRequest("/mcp", 401);
    metrics.connectionOpened("acp");
    metrics.connectionOpened("acp");
    metrics.connectionClosed("acp");
    const lines = metrics.render().split("\n");
    for (const line of [
      'trunkline_http_requests_total{route="/mcp",status="200"} 2',
      'trunkline_http_requests_total{route="/mcp",status="401"} 1',
      'trunkline_connections_total{door="acp"} 2',
      'trunkline_connections_open{door="acp"} 1',
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });

  it("has the format of Prometheus: every sample after the help and type of its name", () => {
    const metrics = new Metrics();
    metrics.connectionOpened("mcp");
    const text = metrics.render();
    assert.ok(text.endsWith("\n"));
    let name: string | undefined;
    for (const line of text.trimEnd().split("\n")) {
      const [, kind, declared] = /^# (HELP|TYPE) (\w+) /.exec(line) ?? [];
      if (kind === "HELP") name = declared;
      else if (kind === "TYPE") assert.equal(declared, name);
      else
        assert.match(
          line,
          new RegExp(String.raw`^${name}(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? -?[\d.e+-]+$`),
        );
    }
  });
});

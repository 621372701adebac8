import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import { SampleContext } from "../../../../test/upstream/sample-context.ts";
import { META, ROUTED_EXTENSIONS, TASKS_CAPABILITY } from "../meta.ts";
import { MCP_2026_07_28 as codec } from "./2026-07-28.ts";

const SERVER = { name: "server", version: "1" };

describe("shapeResult()", () => {
  it("says that the result is complete, who answers, and what may be cached", () => {
    covers("mcp.modern.result-type", "mcp.modern.server-info", "mcp.modern.caching");
    const caching = { ttlMs: 0, cacheScope: "private" } as const;
    assert.deepEqual(codec.shapeResult({ tools: [], _meta: { a: 1 } }, SERVER, caching), {
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      tools: [],
      _meta: { a: 1, [META.serverInfo]: SERVER },
    });
  });

  it("keeps the type of a result of another type", () => {
    const asking = { resultType: "input_required" };
    assert.equal(codec.shapeResult(asking, SERVER, undefined).resultType, "input_required");
  });
});

describe("requestMeta()", () => {
  it("describes us, and of the caller only what it can be asked", () => {
    covers("mcp.modern.client-meta");
    const context = new SampleContext({ answers: { "roots/list": () => ({ roots: [] }) } });
    const meta = codec.requestMeta(SERVER, context, TASKS_CAPABILITY);
    assert.deepEqual(meta, {
      [META.protocolVersion]: "2026-07-28",
      [META.clientInfo]: SERVER,
      [META.clientCapabilities]: { roots: {}, ...TASKS_CAPABILITY },
      [META.logLevel]: "info",
    });
  });

  it("passes on which log messages the caller wants", () => {
    const context = new SampleContext({ meta: { [META.logLevel]: "error" } });
    assert.equal(codec.requestMeta(SERVER, context)?.[META.logLevel], "error");
  });

  it("asks for no log messages and offers no questions without a caller", () => {
    const meta = codec.requestMeta(SERVER, undefined, { extensions: {} });
    assert.deepEqual(meta?.[META.clientCapabilities], { extensions: ROUTED_EXTENSIONS });
    assert.ok(!(META.logLevel in (meta ?? {})));
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleContext } from "../../../test/samples/sample-context.ts";
import type { CallEnd } from "../../tool/call-observer.ts";
import { Profile } from "../../tool/profile/profile.ts";
import { textResult, type Tool } from "../../tool/tool.ts";
import { Toolbox } from "../../tool/toolbox.ts";
import { requestLog } from "./request-log.ts";

const ENDED: CallEnd = { outcome: "ok", reason: undefined, milliseconds: 2.5, result: undefined };

const TOOL: Tool = {
  definition: { name: "echo", inputSchema: {} },
  source: { server: "files", name: "echo" },
  call: () => textResult(""),
};

class Sample {
  readonly lines: Record<string, unknown>[] = [];
  readonly log = requestLog((fields) => this.lines.push(fields));

  called(door: string): void {
    const caller = { door, name: "editor" };
    const context = new SampleContext({ caller });
    this.log.calls.ended({ name: "echo", args: { key: "hidden" }, context, tool: TOOL }, ENDED);
  }
}

describe("requestLog", () => {
  it("has a line for each request, with the server of its tool and without its arguments", () => {
    const sample = new Sample();
    const params = { name: "echo", arguments: { key: "hidden" } };
    const state = { client: { name: "editor" }, principal: {} };
    sample.called("mcp");
    const result = { content: [], isError: true };
    sample.log.requests("mcp")({ method: "tools/call", params, state, milliseconds: 1, result });
    const [{ ms, ...line } = {}] = sample.lines;
    assert.equal(typeof ms, "number");
    const who = { door: "mcp", client: "editor" };
    const what = { method: "tools/call", tool: "echo", server: "files", outcome: "tool-error" };
    assert.deepEqual(line, { ...who, ...what });
    assert.equal(JSON.stringify(sample.lines).includes("hidden"), false);
  });

  it("names the server of a tool that the client's profile renames", async () => {
    const lines: Record<string, unknown>[] = [];
    const log = requestLog((fields) => lines.push(fields));
    const box = new Toolbox({ observer: log.calls });
    box.add(TOOL);
    const profile = new Profile("short", { tools: { rename: { echo: "say" } } });
    await box.call("say", {}, Object.assign(new SampleContext(), { profile }));
    const request = { method: "tools/call", params: { name: "say" }, state: {}, milliseconds: 1 };
    log.requests("mcp")({ ...request, result: { content: [] } });
    assert.deepEqual([lines[0]?.tool, lines[0]?.server], ["say", "files"]);
  });

  it("names how requests end that have no result, and shortens what clients make up", () => {
    const sample = new Sample();
    const observe = sample.log.requests("acp");
    const state = { name: "zed", principal: {} };
    observe({ method: "session/prompt", params: {}, state, milliseconds: 1, isCancelled: true });
    const unknown = { method: "x".repeat(5_000), params: null, state: undefined };
    observe({ ...unknown, milliseconds: 1, error: -32601 });
    assert.deepEqual(
      sample.lines.map(({ outcome, client }) => [outcome, client]),
      [
        ["cancelled", "zed"],
        ["-32601", undefined],
      ],
    );
    assert.equal(String(sample.lines[1]?.method).length, 201);
  });

  it("has calls over the bus, which are no requests of a peer", () => {
    const sample = new Sample();
    sample.called("bus");
    const [line] = sample.lines;
    assert.deepEqual([line?.door, line?.tool, line?.ms], ["bus", "echo", 2.5]);
  });
});

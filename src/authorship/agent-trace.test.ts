import assert from "node:assert/strict";
import { renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { traceRecord } from "./agent-trace.ts";
import { writer } from "./explain-line.ts";
import { type LineSource, LineTracer } from "./line-tracer.ts";
import { WorkHistory } from "./work-history.ts";

const FILE = "app/.agent-trace/traces.jsonl";
const AI = { type: "ai", model_id: "anthropic/claude-opus" };

/** A repository with a commit that nobody of us saw. */
class Traced extends SampleRepository {
  readonly head: string;

  constructor() {
    super();
    this.write("app/a.txt", "one\ntwo\nthree\nfour\n");
    this.run("add", ".");
    this.commit();
    this.head = this.run("rev-parse", "HEAD").trim();
  }

  record(ranges: object[], more: object = {}, contributor: object = AI): string {
    const files = [{ path: "a.txt", conversations: [{ contributor, ranges }] }];
    const vcs = { type: "git", revision: this.head };
    return `${JSON.stringify({ version: "0.1.0", vcs, tool: { name: "cursor" }, files, ...more })}\n`;
  }

  async writers(): Promise<string[]> {
    const history = WorkHistory.of(join(this.home, "data"), this.path);
    assert.ok(history);
    const lines = await new LineTracer(history).trace("a.txt");
    return lines.map(({ step, certain }) => `${writer(step)}${certain ? "" : "?"}`);
  }
}

const ONE = [{ start_line: 1, end_line: 1 }];
const CURSOR = "cursor (anthropic/claude-opus), as Agent Trace says?";
const NOTHING = ["a commit", "a commit", "a commit", "a commit"];

describe("records of Agent Trace", () => {
  it("are told as theirs and not as certain, in both forms of the version", async () => {
    using traced = new Traced();
    const both = { start_line: 3, end_line: 4, contributor: { type: "ai" } };
    const records = [
      "no record\n",
      traced.record(ONE),
      traced.record([both], { version: "0.1", tool: undefined }),
    ];
    traced.write(FILE, records.join(""));
    const unnamed = "an agent, as Agent Trace says?";
    assert.deepEqual(await traced.writers(), [CURSOR, "a commit", unnamed, unnamed]);
  });

  it("are passed over where they tell of people, other commits, or in another form", async () => {
    using traced = new Traced();
    const records = [
      traced.record(ONE, {}, { type: "human" }),
      traced.record(ONE, { vcs: { type: "git", revision: "0".repeat(40) } }),
      traced.record(ONE, { version: "2.0" }),
      traced.record(ONE, { version: { toString: 1 } }),
      traced.record(ONE, { files: [null, { path: "a.txt", conversations: "x" }] }),
      traced.record([{ start_line: "x" }, { start_line: {}, end_line: [] }]),
    ];
    traced.write(FILE, records.join(""));
    assert.deepEqual(await traced.writers(), NOTHING);
  });

  it("are not read through links, nor where the file is too large", async () => {
    using traced = new Traced();
    const file = traced.write(FILE, traced.record(ONE));
    assert.equal((await traced.writers())[0], CURSOR);
    renameSync(file, join(traced.home, "out.jsonl"));
    symlinkSync(join(traced.home, "out.jsonl"), file);
    assert.deepEqual(await traced.writers(), NOTHING);
    renameSync(join(traced.path, ".agent-trace"), join(traced.home, "away"));
    renameSync(join(traced.home, "out.jsonl"), join(traced.home, "away/traces.jsonl"));
    symlinkSync(join(traced.home, "away"), join(traced.path, ".agent-trace"));
    assert.deepEqual(await traced.writers(), NOTHING);
    using large = new Traced();
    large.write(FILE, `${large.record(ONE)}${" ".repeat(9 * 1024 * 1024)}`);
    assert.deepEqual(await large.writers(), NOTHING);
  });

  it("are written by the letter of the format, with what is not certain as unknown", () => {
    const id = "01234567-89ab-cdef-0123-456789abcdef";
    const line = (by: "agent" | "person", certain: boolean, session?: string): LineSource => {
      const step = { by, ...(session === undefined ? {} : { session, model: "openai/gpt" }) };
      return { text: "secret", path: "a.txt", line: 1, step, certain };
    };
    const lines = [
      ...[line("agent", true, id), line("agent", true, id), line("person", true)],
      ...[line("agent", false, id), line("agent", true, id)],
    ];
    const record = traceRecord("a.txt", "f00", lines) as Record<string, unknown>;
    const { id: recordId, timestamp, tool, ...rest } = record;
    assert.match(String(recordId), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
    assert.deepEqual(Object.keys(tool as object), ["name", "version"]);
    const at = (start_line: number, end_line = start_line): object => ({ start_line, end_line });
    assert.deepEqual(rest, {
      version: "0.1.0",
      vcs: { type: "git", revision: "f00" },
      files: [
        {
          path: "a.txt",
          conversations: [
            {
              url: `urn:uuid:${id}`,
              contributor: { type: "ai", model_id: "openai/gpt" },
              ranges: [at(1, 2), at(5)],
            },
            { contributor: { type: "human" }, ranges: [at(3)] },
            { contributor: { type: "unknown" }, ranges: [at(4)] },
          ],
        },
      ],
    });
  });
});

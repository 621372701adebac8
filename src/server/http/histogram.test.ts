import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { histogram } from "./metrics.ts";

describe("histogram()", () => {
  it("counts each duration in all buckets that it fits into", () => {
    const times = histogram("h_seconds", "Help.", ["tool"]);
    for (const milliseconds of [0.5, 5, 400, 400_000]) times.observe(milliseconds, "echo");
    const lines = times.render().split("\n");
    for (const line of [
      "# TYPE h_seconds histogram",
      'h_seconds_bucket{tool="echo",le="0.001"} 1',
      'h_seconds_bucket{tool="echo",le="0.005"} 2',
      'h_seconds_bucket{tool="echo",le="0.1"} 2',
      'h_seconds_bucket{tool="echo",le="0.5"} 3',
      'h_seconds_bucket{tool="echo",le="300"} 3',
      'h_seconds_bucket{tool="echo",le="+Inf"} 4',
      'h_seconds_sum{tool="echo"} 400.4055',
      'h_seconds_count{tool="echo"} 4',
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });

  it("escapes what would break out of a label", () => {
    const times = histogram("h", "Help.", ["tool"]);
    times.observe(1, 'a"} 1\nb \\');
    assert.ok(times.render().includes(String.raw`h_count{tool="a\"} 1\nb \\"} 1`));
  });

  it("counts what has the same labels in one series, also where names are cut", () => {
    const times = histogram("h", "Help.", ["tool", "server"]);
    const long = "x".repeat(100);
    for (const more of ["", "a", "b", "b"]) times.observe(1, `${long}${more}`, "s");
    for (const name of ["\ud800", "\ufffd"]) times.observe(1, name, "s");
    times.observe(1, "a\nb", "c");
    times.observe(1, "a", "b\nc");
    assert.deepEqual(times.render().match(/^h_count.*$/gm), [
      `h_count{tool="${long}",server="s"} 4`,
      'h_count{tool="\ufffd",server="s"} 2',
      String.raw`h_count{tool="a\nb",server="c"} 1`,
      String.raw`h_count{tool="a",server="b\nc"} 1`,
    ]);
  });

  it("counts what comes after too many series together", () => {
    const times = histogram("h", "Help.", ["tool", "server"]);
    for (let i = 0; i < 600; i++) times.observe(1, `tool-${i}`, "s");
    times.observe(1, "tool-0", "s");
    const counts = times.render().match(/^h_count.*$/gm) ?? [];
    assert.equal(counts.length, 501);
    assert.ok(counts.includes('h_count{tool="tool-0",server="s"} 2'));
    assert.ok(counts.includes('h_count{tool="other",server="other"} 100'));
  });
});

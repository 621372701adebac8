import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { AuditEntry } from "./audit.ts";
import { SampleContext, sampleTool } from "../../test/samples/sample-context.ts";
import { echo, textOf } from "../../test/samples/sample-toolbox.ts";
import { textResult, type Tool } from "./tool.ts";
import { Toolbox } from "./toolbox.ts";

describe("a toolbox with an approver", () => {
  const source = { server: "files", name: "read" };
  const definition = { name: "files_read", inputSchema: { type: "object" } };
  const read = sampleTool("files_read", () => textResult("read"), { definition, source });

  /** A toolbox whose approver holds everything until it is told otherwise. */
  function holding() {
    const approver = {
      verdict: "held" as "approved" | "held",
      judged: [] as string[],
      changed: () => {},
      judge(server: string, { name }: { name: string }) {
        this.judged.push(`${server}/${name}`);
        return this.verdict;
      },
      why: () => "changed" as const,
      vouched: [] as string[],
      vouches(server: string, { name }: { name: string }) {
        return this.vouched.includes(`${server}/${name}`);
      },
      onChange(listener: () => void) {
        this.changed = listener;
        return () => {};
      },
    };
    const entries: AuditEntry[] = [];
    const audit = { record: (entry: AuditEntry) => void entries.push(entry) };
    return { approver, entries, box: new Toolbox({ approver, audit }) };
  }

  it("does not offer a held tool, and tells its caller what to do", async () => {
    const { approver, entries, box } = holding();
    box.add(read);
    assert.deepEqual(approver.judged, ["files/read"]);
    assert.deepEqual(box.list(), []);
    assert.equal(box.get("files_read"), undefined);
    assert.deepEqual(box.held(), [{ tool: read, source, why: "changed" }]);
    const result = await box.call("files_read", {}, new SampleContext());
    assert.equal(result.isError, true);
    assert.match(
      String(textOf(result)),
      /^'files_read' of 'files' is held: .*`trunkline tool diff read`.*`trunkline tool approve read`/,
    );
    assert.equal(entries[0]?.outcome, "refused");
  });

  it("offers it once it is approved, and holds it once it is not", async () => {
    const { approver, box } = holding();
    let told = 0;
    box.onChange(() => told++);
    const remove = box.add(read);
    approver.verdict = "approved";
    approver.changed();
    assert.deepEqual(box.list(), [read]);
    assert.deepEqual(box.held(), []);
    assert.equal(textOf(await box.call("files_read", {}, new SampleContext())), "read");
    assert.equal(told, 1);
    approver.verdict = "held";
    approver.changed();
    assert.deepEqual(box.list(), []);
    remove();
    assert.deepEqual(box.held(), []);
    approver.verdict = "approved";
    approver.changed();
    assert.deepEqual(box.list(), []);
  });

  describe("and names that look like another's", () => {
    const foreign = (server: string, name: string): Tool => {
      return sampleTool(name, () => textResult(name), { source: { server, name } });
    };
    const shown = (box: Toolbox): string[] => box.list().map(({ definition }) => definition.name);
    const letting = () => {
      const made = holding();
      made.approver.verdict = "approved";
      return made;
    };

    it("holds one that looks like ours, whichever came first", async () => {
      for (const order of ["before", "after"]) {
        const { box } = letting();
        const fake = foreign("files", "есho");
        if (order === "after") box.add(echo);
        box.add(fake);
        if (order === "before") box.add(echo);
        assert.deepEqual(shown(box), ["echo"]);
        const [held] = box.held();
        assert.deepEqual([held?.why, held?.like], ["lookalike", "echo"]);
        const result = await box.call("есho", {}, new SampleContext());
        assert.match(String(textOf(result)), /is held: its name looks like 'echo'.*tool approve/);
      }
    });

    it("holds that of the later of two servers, and none of a single server", () => {
      const { box } = letting();
      box.add(foreign("one", "list"));
      box.add(foreign("two", "Iist"));
      box.add(foreign("one", "1ist"));
      assert.deepEqual(shown(box), ["list", "1ist"]);
      assert.equal(box.held()[0]?.source.server, "two");
    });

    it("offers it once a person has approved it, or the other is gone", () => {
      const { approver, box } = letting();
      const remove = box.add(foreign("one", "list"));
      box.add(foreign("two", "Iist"));
      approver.vouched.push("two/Iist");
      approver.changed();
      assert.deepEqual(shown(box), ["list", "Iist"]);
      approver.vouched.pop();
      approver.changed();
      assert.deepEqual(shown(box), ["list"]);
      remove();
      assert.deepEqual(shown(box), ["Iist"]);
      assert.deepEqual(box.held(), []);
    });
  });

  it("does not hold our own tools", () => {
    const { approver, box } = holding();
    box.add(echo);
    assert.deepEqual(box.list(), [echo]);
    assert.deepEqual(approver.judged, []);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { runInProcess } from "../../../test/support/run-in-process.ts";
import { resultText, runResult } from "./run.ts";

const target = {
  url: "https://example.com/app.git",
  branch: "agent/abc",
  revision: "f".repeat(40),
};

function ended(_meta?: Readonly<Record<string, unknown>>) {
  return runResult("s1", { stopReason: "end_turn", ...(_meta === undefined ? {} : { _meta }) });
}

describe("runResult()", () => {
  it("is a success if a branch was pushed, or nothing had to change", () => {
    const kinds = ["pushed", "unchanged", "refused", "unpushed"];
    const good = kinds.filter((run) => ended({ trunkline: { run } }).isGood);
    assert.deepEqual(good, ["pushed", "unchanged"]);
  });

  it("is a failure if a server does not mention a run", () => {
    assert.deepEqual(ended(), { session: "s1", stopReason: "end_turn", isGood: false });
  });
});

describe("resultText()", () => {
  it("ends with the branch, after its changes", () => {
    const changes = [
      { path: "a.ts", added: 2, removed: 1 },
      { path: "longer/b.ts", added: 0, removed: 0 },
    ];
    const text = resultText(ended({ target, trunkline: { run: "pushed", changes } }));
    assert.match(text, /^ a\.ts {8}\| {5}3 \+\+-\n longer\/b\.ts \| {5}0 \n/m);
    assert.match(text, / 2 files changed, 2 lines added, 1 removed\n/);
    assert.equal(text.trimEnd().split("\n").at(-1), "agent/abc");
  });

  it("fits a large change into the width of a terminal", () => {
    const changes = [{ path: "a", added: 90_000, removed: 10_000 }];
    const text = resultText(ended({ target, trunkline: { run: "pushed", changes } }));
    const [line = ""] = text.split("\n").filter((each) => each.includes("|"));
    assert.ok(line.length < 80, line);
  });

  it("escapes hidden characters in the names of files and branches", () => {
    const changes = [{ path: "a\u001b[2J", added: 1, removed: 0 }];
    const text = resultText(ended({ target, trunkline: { run: "pushed", changes } }));
    assert.ok(!text.includes("\u001b"));
  });

  it("says how to continue if there is no branch", () => {
    for (const run of ["refused", "unpushed", undefined]) {
      const text = resultText(ended(run === undefined ? {} : { trunkline: { run } }));
      assert.match(text, /trunkline session attach s1/);
    }
  });
});

describe("`trunkline run show`", () => {
  it("says what an id is where it is given something else", async () => {
    for (const command of ["show", "log", "diff", "patch"]) {
      const { code, err } = await runInProcess(["run", command, "WRONG"], { env: {}, cwd: "/" });
      assert.equal(code, 2);
      assert.match(err, /'WRONG' is not the id of a run: it is that of its session, such as/);
    }
  });
});

describe("`trunkline run REPOSITORY`", () => {
  it("refuses protocols that the configuration does not allow, before it fetches anything", async () => {
    for (const [url, set] of [
      ["http://git.example.com/app.git", []],
      ["https://git.example.com/app.git", ["--set", 'remote.protocols=["ssh"]']],
    ] as const) {
      await using folder = await SampleFolder.create();
      const place = { env: { HOME: folder.path, TRUNKLINE_DATA: folder.path }, cwd: "/" };
      const agent = `agents.other={"command":"${process.execPath}"}`;
      const args = ["run", url, "do it", "--unsafe-no-sandbox", "--agent", "other"];
      args.push("--set", agent, ...set);
      const { code, err } = await runInProcess(args, place);
      assert.equal(code, 1);
      assert.match(err, /`remote\.protocols`/);
    }
  });
});

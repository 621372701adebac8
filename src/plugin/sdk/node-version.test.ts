import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nodeProblem } from "./node-version.ts";

describe("nodeProblem()", () => {
  it("accepts the Nodes that can run plugins", () => {
    for (const version of ["26.1.0", "26.10.0", "27.0.0", "100.0.0"]) {
      assert.equal(nodeProblem(version, "/bin/node"), undefined, version);
    }
  });

  it("says of an older one which it is, and what is needed, in one sentence", () => {
    for (const version of ["26.0.9", "25.9.0", "22.18.0", "6.1.0"]) {
      const problem = nodeProblem(version, "/bin/node") ?? "";
      assert.ok(
        problem.startsWith(
          `This plugin needs Node 26.1 or later, and /bin/node is Node ${version}: `,
        ),
        problem,
      );
    }
  });
});

import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { describe, it } from "node:test";

import { belongingTo } from "../../base/background.ts";
import { identityVariables } from "../command-environment.ts";
import { runLine } from "./run-line.ts";

const IDENTITY = {
  name: "work",
  environment: (base: NodeJS.ProcessEnv) => ({ ...base, WHO: "ada" }),
  processEnvironment: (base: NodeJS.ProcessEnv) => ({ ...base, WHO: "ada", GH_TOKEN: "t0k3n" }),
};

async function output(more: object = {}): Promise<string> {
  const line = 'echo "$WHO ${GH_TOKEN:-none}"';
  const options = { line, cwd: tmpdir(), timeout: 60_000, signal: new AbortController().signal };
  return (await runLine({ ...options, identity: IDENTITY, ...more })).output.trim();
}

describe("runLine()", () => {
  it("runs as the identity, with its token", async () => {
    assert.equal(await output(), "ada t0k3n");
  });

  it("gives no token to a command in a sandbox", async () => {
    assert.equal(await output({ confine: (program: object) => program }), "ada none");
  });

  it("marks a command with its session, so that whoever takes the session over can end it", async () => {
    const line = 'echo "$TRUNKLINE_OWNER"';
    assert.match(await belongingTo({ session: "s 1" }, () => output({ line })), /@s%201;$/);
    assert.doesNotMatch(await output({ line }), /@/);
  });
});

describe("identityVariables()", () => {
  it("have no token, because an editor gets them, unless the command is ours", () => {
    const names = (isOurs?: boolean) => identityVariables(IDENTITY, isOurs).map(({ name }) => name);
    assert.deepEqual(names(), ["WHO"]);
    assert.deepEqual(names(true), ["WHO", "GH_TOKEN"]);
  });
});

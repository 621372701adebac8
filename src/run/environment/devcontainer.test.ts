import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readDevcontainer } from "./devcontainer.ts";

function read(value: unknown) {
  return readDevcontainer(value, { folder: "/workspaces/app", variables: { PATH: "/bin" } });
}

describe("readDevcontainer()", () => {
  it("runs the creation commands in the order of the specification", () => {
    const { steps } = read({
      postCreateCommand: ["npm", "ci"],
      updateContentCommand: { install: "npm i", build: ["make"] },
      onCreateCommand: "echo 1 && echo 2",
      postStartCommand: "serve",
    });
    assert.deepEqual(steps, [
      { name: "onCreateCommand", commands: [["/bin/sh", "-c", "echo 1 && echo 2"]] },
      { name: "updateContentCommand", commands: [["/bin/sh", "-c", "npm i"], ["make"]] },
      { name: "postCreateCommand", commands: [["npm", "ci"]] },
    ]);
  });

  it("has no steps if there are no commands", () => {
    const empty = { onCreateCommand: "", updateContentCommand: [], postCreateCommand: null };
    assert.deepEqual(read(empty).steps, []);
  });

  it("replaces variables, and reveals none of the server's", () => {
    const { env, steps } = read({
      containerEnv: { ROOT: "${containerWorkspaceFolder}", PATH: "/x:${containerEnv:PATH}" },
      remoteEnv: { ALSO: "${containerEnv:ROOT}/bin", KEY: "${localEnv:PATH}", GONE: null },
      onCreateCommand: ["echo", "${localWorkspaceFolderBasename}", "${localEnv:X:none}", "${HOME}"],
    });
    const root = "/workspaces/app";
    assert.deepEqual(env, { ROOT: root, PATH: "/x:/bin", ALSO: `${root}/bin`, KEY: "" });
    assert.deepEqual(steps[0]?.commands, [["echo", "app", "none", "${HOME}"]]);
    const endless = "${localEnv:".repeat(200_000);
    assert.equal(read({ containerEnv: { A: endless } }).env.A, endless);
  });

  it("reports the properties that are not used", () => {
    const { notes } = read({ image: "node", features: {}, initializeCommand: "rm -rf ~" });
    assert.deepEqual(notes, [
      "image, features not used: agents use the programs of the server",
      "initializeCommand not used: it would run on the server itself",
    ]);
  });

  it("names the property that is invalid", () => {
    const wrong: [unknown, RegExp][] = [
      [[], /it must be an object/],
      [{ onCreateCommand: 1 }, /onCreateCommand must be a string or a list/],
      [{ postCreateCommand: { a: [1] } }, /postCreateCommand\.a must be/],
      [{ remoteEnv: { A: 1 } }, /remoteEnv\.A must be a string/],
    ];
    for (const [value, says] of wrong) assert.throws(() => read(value), says);
  });
});

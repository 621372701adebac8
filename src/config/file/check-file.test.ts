import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { checkAll, checkFile } from "./check-file.ts";

describe("checkFile()", () => {
  it("looks at one file by itself", async () => {
    await using home = await SampleHome.create();
    const env = { HOME: home.path };
    await assert.rejects(checkFile(home.userFile, env), {
      code: "config",
      message: /no such file/,
    });
    await home.write(home.userFile, `{ "serve": { "port": 1 } }`);
    await checkFile(home.userFile, env);
    await home.write(home.userFile, `{ "serve": { "port": -1 } }`);
    await assert.rejects(checkFile(home.userFile, env), /1:22: 'serve\.port' must be at least 0/);
  });
});

describe("checkAll()", () => {
  it("names who chose an agent that there is not, and the nearest that there is", async () => {
    await using home = await SampleHome.create();
    const input = { cwd: home.project, env: { HOME: home.path }, flags: {} };
    assert.equal((await checkAll(input)).config.agent.name, "trunkline");
    await home.write(
      home.userFile,
      `{ "agent": "gose", "agents": { "goose": { "command": "x" } } }`,
    );
    await assert.rejects(checkAll(input), {
      code: "config",
      message: `${home.userFile}:1:12: 'agent' must be one of: trunkline, goose; did you mean 'goose'?`,
    });
  });
});

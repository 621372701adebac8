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

describe("checkFile() with several mistakes", () => {
  const mistakesOf = async (lines: readonly string[]): Promise<string[]> => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, lines.join("\n"));
    const error = await checkFile(home.userFile, { HOME: home.path }).catch((each: Error) => each);
    assert.ok(error instanceof Error);
    return error.message.split("\n").map((line) => line.replace(`${home.userFile}:`, ""));
  };

  it("names what is missing beside what is wrong, and what is wrong beside what is missing", async () => {
    const given = [
      "{",
      '  "identities": { "work": { "email": 1, "user": 2 } },',
      '  "agents": { "goose": { "args": "acp", "colour": "red" } },',
      '  "policy": { "tools": { "rules": [{ "tool": 1 }, { "decision": "no" }, 7] } }',
      "}",
    ];
    const found = await mistakesOf(given);
    const named = found.map((line) => /'(.+?)'/.exec(line)?.[1]);
    assert.deepEqual(
      new Set(named),
      new Set([
        "agents.goose.args",
        "agents.goose.colour",
        "agents.goose.command",
        "identities.work.email",
        "identities.work.provider",
        "identities.work.user",
        "policy.tools.rules[0].decision",
        "policy.tools.rules[0].tool",
        "policy.tools.rules[1].decision",
        "policy.tools.rules[1].tool",
        "policy.tools.rules[2]",
      ]),
    );
    assert.equal(named.length, 11);
    const lines = found.map((line) => Number.parseInt(line, 10));
    assert.deepEqual(
      lines,
      lines.toSorted((one, other) => one - other),
      "in the order of the file",
    );
  });

  it("does not say of a wrong value that it is missing", async () => {
    const given = '{ "identities": { "work": { "provider": "gitbucket", "user": 1 } } }';
    const [provider = "", user = "", ...more] = await mistakesOf([given]);
    assert.match(provider, /provider' must be one of/);
    assert.match(user, /user' must be a string/);
    assert.deepEqual(more, []);
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

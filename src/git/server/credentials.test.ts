import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { runProgram } from "../run-program.ts";
import { NO_CREDENTIALS } from "../../../test/samples/sample-credentials.ts";
import { loginWith, writeAskpass } from "./pin-connection.ts";

describe("loginWith()", () => {
  it("makes ssh fail for a call that must not connect", () => {
    assert.deepEqual(loginWith(undefined, "/askpass"), { env: { GIT_SSH_COMMAND: "false" } });
  });

  it("never prompts, and configures no askpass program without a token", () => {
    const { env, secret } = loginWith(NO_CREDENTIALS, "/askpass");
    assert.match(env.GIT_SSH_COMMAND ?? "", /BatchMode=yes/);
    assert.deepEqual([env.GIT_ASKPASS, secret], [undefined, undefined]);
  });

  it("puts no token into the environment", async () => {
    const login = loginWith({ scope: "a", user: "ada", token: "t0ken" }, "/askpass");
    assert.ok(!JSON.stringify(login.env).includes("t0ken"));
    assert.equal(login.secret, "t0ken\n");
  });
});

describe("writeAskpass()", () => {
  it("answers with the user's name, and with the secret that comes on descriptor 3", async () => {
    await using folder = await SampleFolder.create();
    const program = await writeAskpass(join(folder.path, "deep"));
    assert.equal(statSync(program).mode & 0o777, 0o700);
    const { env, secret } = loginWith({ scope: "a", user: "ada", token: "t0ken" }, program);
    const all = { PATH: process.env.PATH, ...env };
    const name = execFileSync(program, ["Username for 'https://x': "], { env: all });
    assert.equal(name.toString(), "ada\n");
    const args = ["Password for 'https://ada@x': "];
    const limits = { timeout: 30_000, maxOutput: 1000 };
    const end = await runProgram({ command: program, args, env: all, secret, ...limits });
    assert.equal(end.stdout.toString(), "t0ken\n");
  });
});

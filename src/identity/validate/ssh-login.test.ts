import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { resolveIdentity } from "../identity.ts";
import { logInBySsh, type SshLogin } from "./validate.ts";

const GITHUB =
  "Hi ada! You've successfully authenticated, but GitHub does not provide shell access.";

/** Logs in with an `ssh` that says this, and ends with this code or by this signal. */
async function logIn(code: number | string, said: string): Promise<SshLogin> {
  using sample = new SampleRepository();
  const end = typeof code === "number" ? `exit ${code}` : `kill -${code.slice(3)} $$`;
  const said64 = Buffer.from(said).toString("base64");
  const script = `#!/bin/sh\necho ${said64} | base64 -d\n${end}\n`;
  chmodSync(sample.write("bin/ssh", script), 0o755);
  const env = { ...sample.env, PATH: `${join(sample.home, "bin")}:${sample.env.PATH}` };
  const identity = resolveIdentity("work", { provider: "github", user: "ada" }, env);
  return await logInBySsh(identity, env);
}

describe("logInBySsh()", () => {
  const CASES: readonly (readonly [string, number | string, string, boolean, RegExp])[] = [
    ["GitHub's greeting, which ends with 1", 1, GITHUB, true, /as ada/],
    ["GitLab's greeting", 0, "Welcome to GitLab, @ada!", true, /as ada/],
    ["Bitbucket's greeting", 0, "authenticated via ssh key.\n\nYou can use git", true, /logged in/],
    ["another server that is content", 0, "", true, /logged in/],
    ["somebody else's greeting", 1, GITHUB.replace("ada", "bob"), false, /to 'bob', not to 'ada'/],
    [
      "a key that is not known",
      255,
      "git@github.com: Permission denied (publickey).",
      false,
      /key/,
    ],
    ["a host that is not known", 255, "Host key verification failed.", false, /fingerprint/],
    ["a greeting before a failure", 255, GITHUB, false, /./],
    ["a signal", "SIGKILL", GITHUB, false, /./],
  ];
  for (const [what, code, said, isOk, says] of CASES) {
    it(`classifies ${what}`, async () => {
      const login = await logIn(code, said);
      assert.equal(login.isOk, isOk);
      assert.match(login.says, says);
    });
  }

  it("fails if ssh exited with 1 and an arbitrary message (RemoteJuggler defect 5)", async () => {
    assert.equal((await logIn(1, "This account is currently not available.")).isOk, false);
    assert.equal((await logIn(1, "")).isOk, false);
  });
});

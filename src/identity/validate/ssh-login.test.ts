import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { judgeLogin } from "./ssh-login.ts";

const GITHUB =
  "Hi ada! You've successfully authenticated, but GitHub does not provide shell access.";

describe("judgeLogin()", () => {
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
    it(`judges ${what}`, () => {
      const login = judgeLogin(code, said, "ada");
      assert.equal(login.isOk, isOk);
      assert.match(login.says, says);
    });
  }

  it("fails where ssh ended with 1 and said just anything (RemoteJuggler defect 5)", () => {
    assert.equal(judgeLogin(1, "This account is currently not available.", "ada").isOk, false);
    assert.equal(judgeLogin(1, "", "ada").isOk, false);
  });
});

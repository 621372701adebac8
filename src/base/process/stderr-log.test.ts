import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";

import { Log } from "../log.ts";
import { holdSecret } from "../text/mask.ts";
import { LastStderrLine, StderrLog } from "./stderr-log.ts";

function lastOf(text: string): string | undefined {
  const words = new LastStderrLine();
  for (const line of text.trimEnd().split("\n")) words.add(line);
  return words.line;
}

describe("StderrLog", () => {
  it("shows no half of a secret where it cuts a long line", () => {
    const secret = `said-${"0123456789".repeat(30)}`;
    holdSecret(secret);
    const logged: string[] = [];
    const log = new StderrLog(new Log("info", (line) => void logged.push(line)), "child");
    log.add(`${"x".repeat(900)}${secret}`);
    assert.doesNotMatch([...logged, ...log.tail, log.last].join(), /said-0/);
  });
});

describe("LastWords", () => {
  it("is the last line", () => {
    assert.equal(lastOf("TypeError: once, long ago\nthe disk is on fire"), "the disk is on fire");
    assert.equal(new LastStderrLine().line, undefined);
  });

  for (const [program, expected] of Object.entries({
    "throw new TypeError('no such thing')": "TypeError: no such thing",
    "import('trunkline-no-such-package')": /^Error \[ERR_MODULE_NOT_FOUND\]: Cannot find package/,
  })) {
    it(`is the error of a Node that dies of: ${program}`, () => {
      const { stderr } = spawnSync(process.execPath, ["-e", program], { encoding: "utf8" });
      assert.match(lastOf(stderr) ?? "", new RegExp(expected));
    });
  }

  it("is what npm could not get, not where its log is", () => {
    const missing = `npm error code E404
npm error 404 Not Found - GET https://registry.example/no-such-server
npm error 404
npm error 404  The requested resource 'no-such-server@*' could not be found
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /home/ada/.npm/_logs/debug-0.log`;
    const url = "https://registry.example/no-such-server";
    assert.equal(lastOf(missing), `npm error 404 Not Found - GET ${url}`);
    const offline = `npm error code EAI_AGAIN
npm error syscall getaddrinfo
npm error errno EAI_AGAIN
npm error request to ${url} failed, reason: getaddrinfo EAI_AGAIN registry.example
npm error A complete log of this run can be found in: /home/ada/.npm/_logs/debug-0.log`;
    assert.match(lastOf(offline) ?? "", /^npm error request to \S+ failed, reason: getaddrinfo/);
  });
});

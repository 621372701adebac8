import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseReference, referenceOfPage, referenceText } from "./remote-reference.ts";

const REMOTES = ["git@git.corp:team/app.git", "https://github.com/ada/app.git"];

describe("parseReference()", () => {
  it("reads every way in which people name a pull request", () => {
    const cases: [string, string][] = [
      ["octocat/hello#12", "octocat/hello#12"],
      ["ada/app#12", "ada/app#12"],
      ["team/app#12", "git.corp/team/app#12"],
      ["ghe.corp:8443/o/r#7", "ghe.corp:8443/o/r#7"],
      ["https://github.com/o/r/pull/12", "o/r#12"],
      ["https://github.com/o/r/pull/12/files#r1", "o/r#12"],
      ["12", "git.corp/team/app#12"],
      ["#12", "git.corp/team/app#12"],
    ];
    for (const [text, named] of cases) {
      assert.equal(referenceText(parseReference("github", text, REMOTES)), named, text);
    }
  });

  it("reads every way in which people name a merge request", () => {
    const cases: [string, string][] = [
      ["group/sub/app!12", "group/sub/app!12"],
      ["group/app#12", "group/app!12"],
      ["https://gitlab.com/g/s/app/-/merge_requests/3/diffs", "g/s/app!3"],
      ["!4", "git.corp/team/app!4"],
    ];
    for (const [text, named] of cases) {
      assert.equal(referenceText(parseReference("gitlab", text, REMOTES)), named, text);
    }
  });

  it("says how to name one", () => {
    for (const text of ["", "hello", "hello#12", "o/r#0", "o/r", "a/b/c#1", "o/r#12x"]) {
      assert.throws(() => parseReference("github", text, REMOTES), {
        code: "usage",
        message: /OWNER\/REPO#12/,
      });
    }
    assert.throws(() => parseReference("github", "12", []), /no remote/);
  });
});

describe("referenceOfPage()", () => {
  it("knows the kind by the address, and leaves other texts alone", () => {
    assert.equal(referenceOfPage("https://x.example/a/b/merge_requests/1")?.kind, "gitlab");
    assert.equal(referenceOfPage("http://127.0.0.1:80/a/b/pull/1")?.scheme, "http");
    for (const text of ["threads.json", "-", "https://x.example/file.sarif", "a/pull/1"]) {
      assert.equal(referenceOfPage(text), undefined, text);
    }
  });
});

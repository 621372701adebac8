import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sessionTable } from "./session.ts";

describe("sessionTable()", () => {
  const SESSION = {
    id: "0123456789abcdef",
    cwd: "/work",
    agent: "trunkline",
    title: undefined,
    parent: undefined,
    created: 0,
    updated: 0,
    isHeld: false,
    state: "" as const,
    isDeleted: false,
    notes: {},
    seq: 0,
  };

  it("has no empty column, and escapes hidden characters in titles", () => {
    const text = sessionTable([{ ...SESSION, title: "a\x1b[2J\nb" }], 80);
    const [head = "", row = ""] = text.split("\n");
    assert.match(head, /^ID +LAST USED +AGENT +TITLE +FOLDER$/);
    assert.match(row, /^01234567 {2}1970-01-01 00:00 {2}trunkline {2}a\\u001b\[2J {2}\/work$/);
  });

  it("marks open sessions, and sessions without a prompt", () => {
    const text = sessionTable([{ ...SESSION, state: "open" }], 80);
    assert.match(text, /^ID +LAST USED +STATE +AGENT +TITLE +FOLDER\n/);
    assert.match(text, / open {3}trunkline {2}\(no prompt yet\) /);
  });

  it("names the repository of a remote run, not the folder it works in", () => {
    const run = { url: "https://git.test/app.git" };
    const text = sessionTable([{ ...SESSION, state: "closed", notes: { run } }], 100);
    assert.match(text, / closed .* https:\/\/git\.test\/app\.git\n$/);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseAssignment, readScalar } from "./set-path.ts";

describe("parseAssignment()", () => {
  for (const [text, path, value] of [
    ["log.level=debug", ["log", "level"], "debug"],
    ["serve.port=80", ["serve", "port"], 80],
    ["a=x=y", ["a"], "x=y"],
    ["a=", ["a"], ""],
    ['a="5"', ["a"], "5"],
    ['a={"b":[1]}', ["a"], { b: [1] }],
    ['limits.messages["fs/*"].timeout=1', ["limits", "messages", "fs/*", "timeout"], 1],
    ["limits.messages.fs/*.timeout=1", ["limits", "messages", "fs/*", "timeout"], 1],
    ['a["b=c.d"]=1', ["a", "b=c.d"], 1],
  ] as const) {
    it(`reads ${text}`, () => assert.deepEqual(parseAssignment(text), { path, value }));
  }

  for (const text of ["", "log.level", "=1", ".a=1", "a..b=1", "a[b]=1", "__proto__.a=1"]) {
    it(`refuses '${text}'`, () => {
      const message =
        `Cannot read '--set ${text}'. ` +
        "Write it as --set key.path=value, such as --set log.level=debug.";
      assert.throws(() => parseAssignment(text), { code: "usage", message });
    });
  }
});

describe("readScalar()", () => {
  it("reads a text as its setting's type, and leaves invalid ones to the check", () => {
    assert.deepEqual(
      ["-5", "05", "1.5", "1e3", ""].map((text) => readScalar(text, "integer")),
      [-5, 5, "1.5", "1e3", ""],
    );
    assert.deepEqual(
      ["YES", "on", "1", "No", "off", "0", "maybe"].map((text) => readScalar(text, "boolean")),
      [true, true, true, false, false, false, "maybe"],
    );
    assert.deepEqual(
      ["1.5", "-2", "1e3", "x"].map((text) => readScalar(text, "number")),
      [1.5, -2, "1e3", "x"],
    );
    assert.equal(readScalar("1", "string"), "1");
  });
});

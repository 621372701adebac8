import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { allPaths, callOf, type Command, GLOBAL_OPTIONS, endOf, optionsOf } from "./command.ts";

const example = { x: "X." };
const config = { type: "string", value: "FILE", describe: "Its own" } as const;
const inner: Command = { name: "inner", summary: "I", examples: example, options: { config } };
const group: Command = { name: "group", summary: "G", examples: example, commands: [inner] };
const program: Command = { name: "program", summary: "P", examples: example, commands: [group] };

describe("allPaths()", () => {
  it("visits every command, each after its group", () => {
    const calls = allPaths([program]).map(callOf);
    assert.deepEqual(calls, ["program", "program group", "program group inner"]);
  });
});

describe("endOf()", () => {
  it("is the command at the end of a path, also the program itself", () => {
    assert.equal(endOf([program, group, inner]), inner);
    assert.equal(endOf([program]), program);
  });
});

describe("optionsOf()", () => {
  it("includes the global options, which a command may replace", () => {
    assert.equal(optionsOf(group)["config"], GLOBAL_OPTIONS["config"]);
    assert.equal(optionsOf(inner)["config"], config);
    assert.equal(optionsOf(inner)["data"], GLOBAL_OPTIONS["data"]);
  });
});

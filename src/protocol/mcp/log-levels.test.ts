import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { isLogLevel, isWanted, levelOf, LOG_LEVELS } from "./log-levels.ts";

describe("isWanted()", () => {
  it("wants the level that was asked for and all that are more serious", () => {
    covers("mcp.logging.least-level");
    const wanted = (least: (typeof LOG_LEVELS)[number]): string[] =>
      (["debug", "info", "warn", "error"] as const).filter((level) => isWanted(level, least));
    assert.deepEqual(wanted("debug"), ["debug", "info", "warn", "error"]);
    assert.deepEqual(wanted("notice"), ["warn", "error"]);
    assert.deepEqual(wanted("warning"), ["warn", "error"]);
    assert.deepEqual(wanted("error"), ["error"]);
    assert.deepEqual(wanted("critical"), []);
  });

  it("wants nothing where nobody said what they want", () => {
    covers("mcp.modern.log-level");
    assert.ok(!isWanted("error", undefined));
  });
});

describe("levelOf()", () => {
  it("takes each of the protocol's levels for one of ours", () => {
    const ours = ["debug", "info", "info", "warn", "error", "error", "error", "error"];
    assert.deepEqual(LOG_LEVELS.map(levelOf), ours);
  });

  it("takes what is no level for an error, which nobody overlooks", () => {
    for (const level of [undefined, "fatal", 3, "toString"]) assert.equal(levelOf(level), "error");
  });
});

it("isLogLevel() knows the eight of RFC 5424 and no other", () => {
  assert.equal(LOG_LEVELS.filter(isLogLevel).length, 8);
  for (const level of ["warn", "Info", "", undefined]) assert.ok(!isLogLevel(level));
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { isLogLevel, isWanted, levelOf, LOG_LEVELS, toldLevel } from "./log-levels.ts";

describe("isWanted()", () => {
  it("includes the chosen level and all more serious ones", () => {
    covers("mcp.logging.least-level");
    const wanted = (least: (typeof LOG_LEVELS)[number]): string[] =>
      (["debug", "info", "warn", "error"] as const).filter((level) =>
        isWanted(toldLevel(level), least),
      );
    assert.deepEqual(wanted("debug"), ["debug", "info", "warn", "error"]);
    assert.deepEqual(wanted("notice"), ["warn", "error"]);
    assert.deepEqual(wanted("warning"), ["warn", "error"]);
    assert.deepEqual(wanted("error"), ["error"]);
    assert.deepEqual(wanted("critical"), []);
  });

  it("includes nothing if no level was chosen", () => {
    covers("mcp.modern.log-level");
    assert.ok(!isWanted("error", undefined));
  });
});

describe("levelOf()", () => {
  it("maps each level of the protocol to one of ours", () => {
    const ours = ["debug", "info", "info", "warn", "error", "error", "error", "error"];
    assert.deepEqual(LOG_LEVELS.map(levelOf), ours);
  });

  it("treats an unknown level as an error, so that it is noticed", () => {
    for (const level of [undefined, "fatal", 3, "toString"]) assert.equal(levelOf(level), "error");
  });
});

it("isLogLevel() accepts the eight levels of RFC 5424 and no other", () => {
  assert.equal(LOG_LEVELS.filter(isLogLevel).length, 8);
  for (const level of ["warn", "Info", "", undefined]) assert.ok(!isLogLevel(level));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { VERSION } from "./version.ts";

test("VERSION is the one of package.json when run from source", () => {
  assert.equal(VERSION, packageJson.version);
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { templatePattern } from "./uri-template.ts";

const CASES: [template: string, uri: string, fits: boolean][] = [
  ["demo://text/{id}", "demo://text/1", true],
  ["demo://text/{id}", "demo://text/1/2", false],
  ["demo://text/{id}", "demo://text/", false],
  ["demo://text/{id}", "demo://blob/1", false],
  ["file:///{+path}", "file:///a/b/c", true],
  ["repo://{owner}/{name}", "repo://ann/tides", true],
  ["repo://{owner}/{name}", "repo://ann", false],
  ["x://search{?q,lang}", "x://search?q=a&lang=b", true],
  ["x://search{?q,lang}", "x://search", true],
  ["x://a{/b,c}", "x://a/1/2", true],
  ["x://a{/b,c}", "x://a/1/2/3", false],
  ["x://a.b+c/{d}", "x://aXb+c/1", false],
  ["x://{a}(", "x://1(", true],
];

describe("templatePattern()", () => {
  for (const [template, uri, fits] of CASES) {
    it(`${fits ? "fits" : "does not fit"} ${template} to ${uri}`, () => {
      assert.equal(templatePattern(template).test(uri), fits);
    });
  }
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { UriTemplate } from "./upstream-resources.ts";

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
  ["x://{a}-{b}", "x://1-2-3", true],
  ["x://{a}{b}", "x://1", false],
  ["x://a{/b*}/c", "x://a/1/2/c", true],
  ["x://a{.ext}", "x://a.txt", true],
  ["x://a{.ext}", "x://a", true],
  ["x://a{&q}", "x://a/b", false],
  ["x://{name}.😀", "x://a.😀", true],
  ["", "", true],
  ["", "x", false],
];

describe("UriTemplate", () => {
  for (const [template, uri, fits] of CASES) {
    it(`${fits ? "matches" : "does not match"} ${template} with ${uri}`, () => {
      assert.equal(new UriTemplate(template).fits(uri, { left: 10_000 }), fits);
    });
  }

  it("gives up on a template that is made to take for ever", () => {
    const effort = { left: 200_000 };
    const template = new UriTemplate(`x://${"{+a}a".repeat(300)}!`);
    assert.equal(template.fits(`x://${"a".repeat(5_000)}`, effort), false);
    assert.ok(effort.left < 0);
  });

  it("matches nothing with an endless template", () => {
    assert.equal(new UriTemplate(`x://${"a".repeat(5_000)}`).fits("x://a", { left: 9 }), false);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { redirection } from "./http-redirect.ts";

const FROM = new URL("http://ann:pass@example.org:8080/mcp?key=1");

function answer(statusCode: number, location?: string, method = "POST"): URL | string | undefined {
  const headers = location === undefined ? {} : { location };
  return redirection(FROM, { statusCode, headers }, method);
}

describe("redirection()", () => {
  it("follows 307 and 308 at the same origin, with the configured credentials", () => {
    for (const status of [307, 308]) {
      const to = answer(status, "/other?key=2");
      assert.equal(String(to), "http://ann:pass@example.org:8080/other?key=2");
    }
    assert.equal(
      String(answer(307, "http://eve:x@example.org:8080/")),
      `${FROM.origin}/`.replace("//", "//ann:pass@"),
    );
  });

  it("follows any redirection of a GET, which stays a GET", () => {
    for (const status of [301, 302, 303, 307, 308]) {
      assert.ok(answer(status, "/other", "GET") instanceof URL, String(status));
    }
  });

  it("says why it does not follow", () => {
    assert.match(
      String(answer(302, "/other")),
      /answered 302 with .*\/other, which cannot be posted/,
    );
    assert.match(String(answer(307)), /answered 307 without saying where to/);
    assert.match(String(answer(307, "http://")), /answered 307 without saying where to/);
    for (const location of [
      "https://example.org:8080/mcp",
      "http://example.org/mcp",
      "//evil.example/mcp",
      "http://example.org.evil.example:8080/",
      "file:///etc/passwd",
    ]) {
      assert.match(String(answer(308, location)), /is another server/, location);
    }
  });

  it("shows no part of an address that may be a key", () => {
    const key = "0123456789abcdef";
    for (const location of [`/mcp/${key}/`, `//other.example/${key}`]) {
      assert.ok(!String(answer(301, location)).includes(key), location);
    }
    assert.match(String(answer(301, `/v1/${key}/mcp/`)), /:8080\/v1\/…\/mcp\/, which/);
  });

  it("ignores other answers", () => {
    for (const status of [200, 202, 300, 304, 404, 500]) {
      assert.equal(answer(status, "/other"), undefined);
    }
  });
});

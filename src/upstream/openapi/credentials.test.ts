import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type Credentials, withCredentials } from "./credentials.ts";

const SCHEMES = {
  header: { type: "apiKey", in: "header", name: "X-Key" },
  query: { type: "apiKey", in: "query", name: "key" },
  cookie: { type: "apiKey", in: "cookie", name: "sid" },
  basic: { type: "http", scheme: "Basic" },
  bearer: { type: "http", scheme: "bearer" },
  login: { type: "oauth2", flows: {} },
};

function sent(security: string[][], credentials: Credentials, headers = {}): string {
  const request = { method: "GET", url: new URL("https://api.example/a?b=1"), headers };
  const { url, headers: all } = withCredentials(request, security, SCHEMES, credentials);
  return `${url.search} ${JSON.stringify(all)}`;
}

describe("withCredentials()", () => {
  it("puts each kind where the document says", () => {
    assert.equal(sent([["header"]], { header: "s" }), '?b=1 {"x-key":"s"}');
    assert.equal(sent([["query"]], { query: "s&t" }), "?b=1&key=s%26t {}");
    const cookie = { cookie: "a=1" };
    assert.equal(sent([["cookie"]], { cookie: "s;t" }, cookie), '?b=1 {"cookie":"a=1; sid=s%3Bt"}');
    assert.equal(sent([["basic"]], { basic: "a:b" }), '?b=1 {"authorization":"Basic YTpi"}');
    assert.equal(sent([["bearer"]], { bearer: "s" }), '?b=1 {"authorization":"Bearer s"}');
    assert.equal(sent([["login"]], { login: "s" }), '?b=1 {"authorization":"Bearer s"}');
  });

  it("takes the first alternative that is complete, and all of it", () => {
    const credentials = { header: "h", query: "q" };
    assert.equal(
      sent(
        [
          ["bearer", "header"],
          ["header", "query"],
        ],
        credentials,
      ),
      '?b=1&key=q {"x-key":"h"}',
    );
    assert.equal(sent([["bearer"], ["basic"]], credentials), "?b=1 {}");
  });

  it("sends none to an operation that needs none", () => {
    assert.equal(sent([], { header: "h" }), "?b=1 {}");
    assert.equal(sent([[], ["header"]], { header: "h" }), "?b=1 {}");
    assert.equal(sent([["toString"]], {}), "?b=1 {}");
  });
});

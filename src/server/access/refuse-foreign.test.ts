import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { describe, it } from "node:test";

import { isLocal, type Reachability, refuseForeign } from "./refuse-foreign.ts";
import { sampleServing } from "../../../test/samples/sample-serving.ts";

const OWN = { scheme: "http", port: 4180 } as const;

const LOCAL = sampleServing("127.0.0.1");
const OPEN = sampleServing("0.0.0.0", {
  publicUrl: "https://tools.example.com",
  allowedHosts: ["Inside.example.com"],
  allowedOrigins: ["https://app.example.com", "http://dev.example.com:8080/"],
});

/** Why a request with these headers is refused. */
function why(headers: IncomingHttpHeaders, reach: Reachability): string | undefined {
  const rawHeaders = Object.entries(headers).flatMap(([name, value]) => [name, String(value)]);
  const refusal = refuseForeign({ headers, rawHeaders }, reach, OWN);
  if (refusal !== undefined) assert.equal(refusal.status, 403);
  return refusal?.message;
}

describe("refuseForeign()", () => {
  it("checks the name in Host", () => {
    const all = ["127.0.0.1:4180", "localhost", "LOCALHOST:1", "[::1]:4180", "[::1]"];
    for (const host of all) {
      assert.equal(why({ host }, LOCAL), undefined, host);
      assert.equal(why({ host }, OPEN), undefined, host);
    }
    const open = ["tools.example.com", "TOOLS.example.com:443", "inside.example.com", "0.0.0.0"];
    for (const host of [...open, "192.0.2.7:80", "[2001:db8::1]:80"]) {
      assert.match(why({ host }, LOCAL) ?? "", /is not this machine/, host);
      assert.equal(why({ host }, OPEN), undefined, host);
    }
  });

  it("refuses host names that only look like ours", () => {
    const tricks = [
      ...["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.localhost"],
      ...["localhost@evil.example", "evil.example#localhost", "localhost/", "localhost evil"],
      ...["[::1", "[::1x", "[::1]evil", "::1", "localhost:80:80", "localhost:x", "[localhost]"],
      ...["tools.example.com.evil.example", "xtools.example.com", "tools.example.com."],
    ];
    for (const host of tricks) {
      assert.match(why({ host }, LOCAL) ?? "", /is not this machine/, host);
      assert.match(why({ host }, OPEN) ?? "", /is not this machine/, host);
    }
    assert.match(why({}, OPEN) ?? "", /is not this machine/);
  });

  it("allows our own pages and the configured ones, but no other pages of this machine", () => {
    const named = ["https://app.example.com", "http://dev.example.com:8080"];
    for (const origin of [...named, "https://tools.example.com", "http://localhost:4180"]) {
      assert.equal(why({ host: "localhost:4180", origin }, OPEN), undefined, origin);
    }
    for (const [host, origin] of [
      ["127.0.0.1:4180", "http://127.0.0.1:4180"],
      ["LocalHost:4180", "http://localhost:4180"],
      ["[::1]:4180", "http://[::1]:4180"],
    ] as const) {
      assert.equal(why({ host, origin }, LOCAL), undefined, origin);
    }
    const host = "localhost:4180";
    const tricks = [
      // Whoever listens on another port or address of this machine may be anybody.
      ...[
        "http://localhost:5173",
        "http://localhost",
        "http://127.0.0.1:4180",
        "http://[::1]:4180",
      ],
      ...["https://localhost:4180", "http://localhost:41800", "http://localhost:04180"],
      ...["null", "", "*", "https://evil.example", "https://app.example.com.evil.example"],
      ...["https://app.example.com@evil.example", "http://app.example.com", "app.example.com"],
      ...["https://app.example.com:444", "https://app.example.com, https://evil.example"],
      ...["https://app.example.com/x", "HTTPS://APP.EXAMPLE.COM", "http://localhost.evil.example"],
      ...["http://localhost@evil.example", "http://localhost:4180/", "file://", "file://localhost"],
    ];
    for (const origin of tricks) {
      assert.match(why({ host, origin }, OPEN) ?? "", /is not allowed/, origin);
      assert.match(why({ host, origin }, LOCAL) ?? "", /is not allowed/, origin);
    }
    // The name in Host is a page's own, too, where another program passes its requests on.
    const proxied = { host: "localhost:5173", origin: "http://localhost:5173" };
    assert.match(why(proxied, LOCAL) ?? "", /is not allowed/);
  });

  it("refuses requests that a browser marks as cross-site, unless that page is configured", () => {
    const host = "localhost:4180";
    for (const site of ["same-origin", "none"]) {
      assert.equal(why({ host, "sec-fetch-site": site }, LOCAL), undefined, site);
    }
    for (const site of ["same-site", "cross-site", "", "SAME-ORIGIN", "same-origin, none"]) {
      const headers = { host, "sec-fetch-site": site };
      assert.match(why(headers, LOCAL) ?? "", /another origin/, site);
      assert.match(why(headers, OPEN) ?? "", /another origin/, site);
      const own = { ...headers, origin: "http://localhost:4180" };
      assert.match(why(own, LOCAL) ?? "", /another origin/, site);
      const named = { ...headers, origin: "https://app.example.com" };
      assert.equal(why(named, OPEN), undefined, site);
    }
  });

  it("knows a link on another website from frames, scripts and forms, and from another host", () => {
    const link = {
      host: "localhost:4180",
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    const isLink = (headers: IncomingHttpHeaders, url = "/", method = "GET"): boolean => {
      const refusal = refuseForeign({ headers, rawHeaders: [], url, method }, LOCAL, OWN);
      assert.equal(refusal?.status, 403);
      return refusal?.isLink === true;
    };
    assert.equal(isLink(link), true);
    assert.equal(isLink({ ...link, "sec-fetch-site": "same-site" }), true);
    for (const dest of ["iframe", "frame", "object", "embed", "empty", "document, empty"]) {
      assert.equal(isLink({ ...link, "sec-fetch-dest": dest }), false, dest);
    }
    for (const mode of ["cors", "no-cors", "same-origin", "websocket", "navigate, cors", ""]) {
      assert.equal(isLink({ ...link, "sec-fetch-mode": mode }), false, mode);
    }
    assert.equal(isLink(link, "/", "POST"), false, "a form");
    assert.equal(isLink(link, "/?"), false, "a form that sends its fields in the address");
    assert.equal(isLink({ ...link, origin: "null" }), false);
    assert.equal(isLink({ ...link, host: "evil.example" }), false, "a name of the other website");
  });

  it("refuses doubled headers that say who asks, and from where", () => {
    const headers = { host: "localhost:4180" };
    for (const name of ["Host", "Origin", "Authorization", "Sec-Fetch-Site"]) {
      const rawHeaders = ["Host", "localhost:4180", name, "x", "Accept", "*/*", name, "x"];
      const refusal = refuseForeign({ headers, rawHeaders }, LOCAL, OWN);
      assert.equal(refusal?.status, 400, name);
    }
    const twice = [
      "Host",
      "localhost:4180",
      "Accept",
      "a",
      "accept",
      "b",
      "X",
      "host",
      "Y",
      "host",
    ];
    assert.equal(refuseForeign({ headers, rawHeaders: twice }, LOCAL, OWN), undefined);
  });
});

describe("isLocal()", () => {
  it("recognises forwarded requests, and requests for another host name", () => {
    const host = "127.0.0.1:4180";
    assert.equal(isLocal({ host }), true);
    for (const header of ["forwarded", "x-forwarded-for", "x-real-ip", "via"]) {
      assert.equal(isLocal({ host, [header]: "" }), false, header);
    }
    assert.equal(isLocal({ host: "tools.example.com" }), false);
    assert.equal(isLocal({}), false);
  });
});

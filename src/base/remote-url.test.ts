import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseRemoteUrl, remotePattern, throughSshHost } from "./remote-url.ts";

/** Address → transport, user, host, port, owner, repository. */
const ADDRESSES: Readonly<Record<string, readonly unknown[]>> = {
  "https://github.com/acme/app.git": ["https", undefined, "github.com", undefined, "acme", "app"],
  "https://ada:pw@GitHub.com:8443/acme/app/": ["https", "ada", "github.com", 8443, "acme", "app"],
  "http://h/a": ["http", undefined, "h", undefined, undefined, "a"],
  "git@github.com:acme/app.git": ["ssh", "git", "github.com", undefined, "acme", "app"],
  "gh-work:acme/app": ["ssh", undefined, "gh-work", undefined, "acme", "app"],
  "git@gitlab.com:g/sub/app.git": ["ssh", "git", "gitlab.com", undefined, "g/sub", "app"],
  "ssh://git@host:2222/g/app.git": ["ssh", "git", "host", 2222, "g", "app"],
  "ssh://git@[::1]:2222/~ada/g/app": ["ssh", "git", "::1", 2222, "g", "app"],
  "[git@host:2222]:g/app": ["ssh", "git", "host", 2222, "g", "app"],
  "https://GitHub.com.:443/acme/%61pp.git": [
    "https",
    undefined,
    "github.com",
    undefined,
    "acme",
    "app",
  ],
  "https://h/acme/my%20app": ["https", undefined, "h", undefined, "acme", "my app"],
  "git@[2001:db8::1]:g/app": ["ssh", "git", "2001:db8::1", undefined, "g", "app"],
  "git+ssh://h/g/a.git": ["ssh", undefined, "h", undefined, "g", "a"],
  "git://h/g/a.git": ["git", undefined, "h", undefined, "g", "a"],
  "file:///srv/app.git": ["file", undefined, undefined, undefined, undefined, undefined],
  "/srv/app.git": ["file", undefined, undefined, undefined, undefined, undefined],
  "./a:b": ["file", undefined, undefined, undefined, undefined, undefined],
  "../app": ["file", undefined, undefined, undefined, undefined, undefined],
  "ext::ssh h %S": ["other", undefined, undefined, undefined, undefined, undefined],
  "s3://bucket/x": ["other", undefined, undefined, undefined, undefined, undefined],
  "": ["file", undefined, undefined, undefined, undefined, undefined],
};

describe("parseRemoteUrl()", () => {
  for (const [text, expected] of Object.entries(ADDRESSES)) {
    it(`reads ${text || "nothing"}`, () => {
      const { transport, user, host, port, owner, repository } = parseRemoteUrl(text);
      assert.deepEqual([transport, user, host, port, owner, repository], expected);
    });
  }
});

describe("the normal form of an address", () => {
  const normalOf = (text: string) => parseRemoteUrl(text).normal;

  it("is one for all spellings of it", () => {
    const table: Readonly<Record<string, readonly string[]>> = {
      "https://github.com/acme/app.git": [
        "HTTPS://GitHub.com:443/acme/app.git/",
        "https://github.com.:0443/%61cme/app%2egit",
        "https://:pw@github.com/acme/app.git",
      ],
      "https://ada@h:8443/acme/app": ["https://ada:pw@H:8443/acme/app"],
      "ssh://git@h/acme/app": ["git+ssh://git@H:22/acme/app/", "git@h:/acme/app"],
      "git@h:acme/app": ["git@H.:acme/app/", "[git@h:22]:acme/app"],
      "[git@h:2222]:acme/app": ["[git@H:02222]:acme/app"],
      "ssh://[2001:db8::1]/a": ["ssh://[2001:DB8:0::1]:22/a"],
      "file:///srv/app": ["file:///srv/%61pp/"],
      "/srv/my%61pp": ["/srv/my%61pp/"],
    };
    for (const [normal, spellings] of Object.entries(table)) {
      for (const text of [normal, ...spellings]) assert.equal(normalOf(text), normal, text);
    }
  });

  it("does not exist where the address could lead elsewhere, which then fits no rule", () => {
    const addresses = [
      ...["https://h/acme/../evil/private.git", "https://h/acme/%2e%2e/evil/private.git"],
      ...["https://h/acme/%252e%252e/evil", "https://h/acme%2f..%2fevil", "https://h//evil/x"],
      ...["https://h/acme\\..\\evil", "https://h/evil?/acme/x", "https://h/evil#/acme/x"],
      ...["git@h:acme/../evil/private.git", "git@h:acme/%2e%2e/evil", "git@h:-x", "ssh://h//evil"],
      ...["ssh://git@h/acme/..%2fevil", "https://h:0/a", "https://h:70000/a", "https://h:x/a"],
      ...["https://evil%2f@h/a", "ssh://a%40b@h/a", "https://münchen.de/a", "https://h/a b"],
      ...[
        "file:///srv/acme/%2e%2e/evil",
        "/srv/acme/../evil",
        "/srv//evil",
        "file://h/srv",
        "../a",
      ],
    ];
    for (const text of addresses) {
      const { normal, problem, host, owner, repository } = parseRemoteUrl(text);
      assert.ok(problem !== undefined && problem !== "", text);
      assert.deepEqual(
        [normal, host, owner, repository],
        [undefined, undefined, undefined, undefined],
      );
    }
  });
});

describe("remotePattern()", () => {
  const fits = (pattern: string, text: string): boolean =>
    remotePattern(pattern)(parseRemoteUrl(text).normal ?? "");

  it("fits addresses below it, however both are written", () => {
    const table: readonly (readonly [string, string])[] = [
      ["https://git.example.com/team/*", "https://git.example.com/team/app.git"],
      ["HTTPS://Git.Example.com:443/team/*", "https://ada@git.example.com/team/app.git"],
      ["https://ada@git.example.com/team/*", "https://git.example.com/team/app.git"],
      ["https://*.example.com/team/*", "https://a.b.example.com/team/app"],
      ["git@git.example.com:team/*", "git@GIT.example.com:team/app"],
      ["*@git.example.com:team/*", "ada@git.example.com:team/app"],
      ["*://git.example.com/*", "ssh://git.example.com/a"],
      ["/srv/git/*", "/srv/git/app"],
      ["*", "git@h:a"],
      ["https:*", "https://h/a"],
      ["https://*", "https://h/a"],
      ["https://git.example.com*", "https://git.example.com/a/b"],
    ];
    for (const [pattern, text] of table) assert.ok(fits(pattern, text), `${pattern} ${text}`);
  });

  it("fits no address that only contains its text", () => {
    const table: readonly (readonly [string, string])[] = [
      ["https://git.example.com/team/*", "https://evil.com/https://git.example.com/team/x"],
      ["https://*.example.com/team/*", "https://evil.com/x.example.com/team/x"],
      ["https://git.example.com*", "https://git.example.com@evil.com/x"],
      ["https://git.example.com*", "https://git.example.com.evil.com/x"],
      ["https://git.example.com/team/*", "https://git.example.com:8443/team/x"],
      ["https://git.example.com/team/*", "http://git.example.com/team/x"],
      ["git@h:team/*", "eve@h:team/x"],
      ["git@h:team/*", "GIT@h:team/x"],
      ["git@h:team/*", "ssh://git@h/team/x"],
      ["*@h:team/*", "git@evil:x/git@h:team/x"],
    ];
    for (const [pattern, text] of table) {
      assert.ok(parseRemoteUrl(text).normal !== undefined || text.includes("://git"), text);
      assert.ok(!fits(pattern, text), `${pattern} ${text}`);
    }
  });
});

describe("throughSshHost()", () => {
  it("keeps the form, the user and the port (RemoteJuggler defect 7)", () => {
    const through = (text: string) => throughSshHost(text, "acme-git");
    assert.equal(through("git@github.com:acme/app.git"), "git@acme-git:acme/app.git");
    assert.equal(through("ssh://git@github.com:443/acme/app"), "ssh://git@acme-git:443/acme/app");
    assert.equal(through("ssh://github.com/acme/app"), "ssh://acme-git/acme/app");
    assert.equal(through("[git@github.com:443]:acme/app"), "[git@acme-git:443]:acme/app");
    assert.equal(through("https://ada:pw@github.com/acme/app.git"), "git@acme-git:acme/app.git");
    assert.equal(through("/srv/app.git"), undefined);
  });
});

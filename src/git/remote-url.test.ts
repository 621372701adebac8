import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseRemoteUrl, throughSshHost } from "./remote-url.ts";

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

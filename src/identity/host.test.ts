import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { hostText } from "../base/address.ts";
import { parseRemoteUrl } from "../base/remote-url.ts";
import { hostFit, splitHost } from "./identity.ts";

describe("hostFit()", () => {
  const CASES: readonly (readonly [string, string, "exact" | "name" | undefined])[] = [
    ["git.corp", "https://git.corp/a/b", "exact"],
    ["git.corp", "https://git.corp:443/a/b", "exact"],
    ["git.corp:443", "https://git.corp/a/b", "exact"],
    ["git.corp:443", "http://git.corp/a/b", undefined],
    ["git.corp", "http://git.corp:80/a/b", "exact"],
    ["git.corp:8443", "https://GIT.corp:8443/a/b", "exact"],
    ["git.corp:8443", "https://git.corp:9443/a/b", undefined],
    ["git.corp:8443", "https://git.corp/a/b", undefined],
    ["git.corp", "https://git.corp:8443/a/b", "name"],
    ["git.corp:8443", "git@git.corp:a/b", "exact"],
    ["git.corp:8443", "ssh://git@git.corp:2222/a/b", "exact"],
    ["git.corp:8443", "https://git.corp.evil:8443/a/b", undefined],
    ["[::1]:8443", "https://[::1]:8443/a/b", "exact"],
    ["[::1]:8443", "https://[::1]:9443/a/b", undefined],
    ["git.corp", "/srv/a/b", undefined],
  ];
  for (const [own, url, fit] of CASES) {
    it(`is ${fit} for '${own}' and ${url}`, () => {
      assert.equal(hostFit(own, parseRemoteUrl(url)), fit);
    });
  }
});

describe("splitHost() and hostText()", () => {
  it("take a host apart and write it again", () => {
    for (const text of ["git.corp", "git.corp:8443", "[::1]:8443", "[fe80::1]"]) {
      const { name, port } = splitHost(text);
      assert.equal(hostText({ host: name, port }), text);
    }
    assert.deepEqual(splitHost("::1"), { name: "::1", port: undefined });
  });
});

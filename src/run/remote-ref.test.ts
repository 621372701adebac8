import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../test/support/requirement.ts";
import { parseRemoteUrl } from "../base/remote-url.ts";
import { OWNER, type Principal } from "../base/principal.ts";
import {
  checkRemoteUrl,
  pinAddresses,
  readRemoteRef,
  refuseRepository,
  type RemotePolicy,
} from "./remote-ref.ts";

const REVISION = "0123456789abcdef0123456789abcdef01234567";
const URL = "https://example.com/acme/app.git";

const read = (remote: object) =>
  readRemoteRef({ remote: { url: URL, revision: REVISION, ...remote } });

describe("readRemoteRef()", () => {
  it("is undefined if a client does not ask for a run", () => {
    covers("run.new.plain");
    for (const meta of [undefined, null, {}, { remote: null }]) {
      assert.equal(readRemoteRef(meta), undefined);
    }
  });

  it("accepts the full name of a branch, even as the guide misspells it", () => {
    covers("run.remote.branch");
    for (const branch of ["main", "refs/heads/main", "refs/head/main"]) {
      assert.equal(read({ branch })?.branch, "main");
    }
    assert.equal(read({})?.branch, "");
  });

  it("throws if the revision is not a full hash", () => {
    covers("run.remote.revision");
    for (const revision of [
      undefined,
      "",
      "main",
      "0123456",
      REVISION.toUpperCase(),
      `${REVISION}0`,
    ]) {
      assert.throws(
        () => read({ revision }),
        /'params\._meta\.remote\.revision' must be a full commit/,
      );
    }
    assert.equal(read({ revision: "a".repeat(64) })?.revision, "a".repeat(64));
  });

  it("throws for a branch that git, or a command line, would misread", () => {
    const branches = [
      ...["-f", "a/-b", "--upload-pack=x", ".hidden", "a/.b", "a..b", "a b", "a\nb", "a~1", "a^"],
      ...[
        "a:b",
        "a?",
        "a*",
        "a[",
        "a\\b",
        "@",
        "a@{1}",
        "a//b",
        "a/",
        "a.",
        "a.lock",
        "a.lock/b",
        7,
      ],
    ];
    for (const branch of branches) {
      assert.throws(() => read({ branch }), /must be the name of a branch/, String(branch));
    }
  });

  it("throws if the URL is missing, or too long", () => {
    for (const url of [undefined, "", 1, `https://example.com/${"a".repeat(2048)}`]) {
      assert.throws(() => read({ url }), /'params\._meta\.remote\.url' must be/);
    }
  });
});

describe("checkRemoteUrl()", () => {
  const policy: RemotePolicy = { allowHosts: [], allowPrivate: false, protocols: ["https", "ssh"] };

  it("accepts HTTPS and SSH, in both of its forms", () => {
    covers("run.remote.url");
    for (const url of [URL, "ssh://git@example.com/a.git", "git@example.com:acme/app.git"]) {
      assert.equal(checkRemoteUrl(url, policy).host, "example.com");
    }
  });

  it("refuses other protocols unless they are configured", () => {
    for (const url of ["/srv/repo", "file:///srv/repo", "http://example.com/a", "ext::sh -c id"]) {
      assert.throws(() => checkRemoteUrl(url, policy), /`remote\.protocols`/, url);
    }
    assert.doesNotThrow(() => checkRemoteUrl("/srv/repo", { ...policy, protocols: ["file"] }));
  });

  it("refuses a URL that git could mistake for an option", () => {
    for (const url of [
      "ssh://-oProxyCommand=id@example.com/a",
      "git@example.com:-x",
      "-oX@example.com:a",
    ]) {
      assert.throws(() => checkRemoteUrl(url, policy), { code: "untrusted" }, url);
    }
  });

  it("refuses an option instead of a folder", () => {
    const local = { ...policy, protocols: ["file"] };
    assert.throws(() => checkRemoteUrl("--upload-pack=id", local), /for an option/);
  });

  it("refuses an address in which curl or git would find another host", () => {
    const urls = [
      ...["https://10.0.0.1?@example.com/a", "https://10.0.0.1#@example.com/a"],
      ...["https://10.0.0.1\\\\@example.com/a", "https://%31%30.0.0.1/a", "https://0x7f000001/a"],
      ...["ssh://10.0.0.1%2Fx@example.com/a", "ssh://10.0.0.1?@example.com/a"],
      ...["ssh://a@10.0.0.1%2F@example.com/a", "https://[fe80::1%25eth0]/a"],
    ];
    for (const url of urls)
      assert.throws(() => checkRemoteUrl(url, policy), /cannot be parsed/, url);
    for (const url of ["https://ada@example.com:8443/a%20b", "ssh://git@[2001:500:88::8]:22/a"]) {
      assert.doesNotThrow(() => checkRemoteUrl(url, policy), url);
    }
  });

  it("refuses an address whose path could lead to another repository", () => {
    for (const path of ["acme/../evil/private.git", "acme/%2e%2E/evil", "acme/%252e%252e/evil"]) {
      for (const url of [`https://example.com/${path}`, `git@example.com:${path}`]) {
        assert.throws(() => checkRemoteUrl(url, policy), { code: "untrusted" }, url);
      }
    }
  });

  it("refuses a password in the address, which would show in arguments and in the session", () => {
    const refused = () => checkRemoteUrl("https://ada:s3cret@example.com/a", policy);
    assert.throws(refused, /contains a password.*`trunkline identity token set NAME`/);
    assert.throws(refused, ({ message }: Error) => !message.includes("s3cret"));
  });

  it("accepts only the listed hosts, and subdomains of `*.` entries", () => {
    const listed = { ...policy, allowHosts: ["github.com", "*.example.com"] };
    for (const host of ["github.com", "GitHub.com", "git.example.com"]) {
      assert.doesNotThrow(() => checkRemoteUrl(`https://${host}/a`, listed), host);
    }
    for (const host of ["example.com", "evilexample.com", "github.com.evil.net"]) {
      assert.throws(
        () => checkRemoteUrl(`https://${host}/a`, listed),
        /`remote\.allowHosts`/,
        host,
      );
    }
  });

  it("does not show a password in its message", () => {
    const refused = () => checkRemoteUrl("http://ada:s3cret@example.com/a", policy);
    assert.throws(refused, ({ message }: Error) => !message.includes("s3cret"));
  });
});

describe("pinAddresses()", () => {
  const policy = { allowHosts: [], allowPrivate: false, protocols: [] };
  const pin = (url: string, addresses: string[], allowPrivate = false) =>
    pinAddresses(parseRemoteUrl(url), { ...policy, allowPrivate }, async () => addresses);

  it("refuses a host with any private address", async () => {
    await assert.rejects(pin(URL, ["192.0.43.8", "10.0.0.1"]), /resolves to 10\.0\.0\.1/);
    await assert.rejects(pin("https://127.0.0.1/a", []), { code: "untrusted" });
    assert.deepEqual(await pin(URL, ["10.0.0.1"], true), ["10.0.0.1"]);
  });

  it("resolves a name, and returns an address unchanged", async () => {
    assert.deepEqual(await pin(URL, ["192.0.43.8"]), ["192.0.43.8"]);
    assert.deepEqual(await pin("https://8.8.8.8/a", ["unused"]), ["8.8.8.8"]);
    assert.deepEqual(await pin("/srv/repo", ["unused"]), []);
  });
});

describe("refuseRepository()", () => {
  it("holds the limits of a token for repositories on this machine, which are folders", () => {
    const limited = (limits: object): Principal => ({ ...OWNER, id: "token t", limits });
    const inside = limited({ folders: ["/srv/team"] });
    refuseRepository(inside, "file:///srv/team/app");
    refuseRepository(inside, "https://example.com/team/app.git");
    for (const other of ["file:///srv/other", "/srv/other", "file:///srv/team/../other"]) {
      assert.throws(() => refuseRepository(inside, other), /may not use the folder/);
    }
    const repository = limited({ repositories: ["https://example.com/team/*"] });
    assert.throws(() => refuseRepository(repository, "file:///srv/team/app"));
  });
});

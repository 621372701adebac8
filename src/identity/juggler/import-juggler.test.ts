import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { importJuggler, jugglerView } from "./import-juggler.ts";

const FULL = {
  $schema: "https://example.com/schema.json",
  version: "2.0.0",
  generated: "2026-01-15",
  identities: {
    "gitlab-work": {
      provider: "gitlab",
      host: "gitlab-work",
      hostname: "gitlab.com",
      user: "ada",
      email: "ada@acme.example",
      sshKeyPath: "~/.ssh/id_work",
      credentialSource: "keychain",
      tokenEnvVar: "GITLAB_TOKEN",
      keychainService: "remote-juggler.gitlab.work",
      keePassEntry: "Root/GitLab",
      organizations: ["acme", "acme/infra"],
      gpg: {
        keyId: "ABCDEF",
        format: "gpg",
        sshKeyPath: "",
        signCommits: true,
        signTags: false,
        autoSignoff: true,
        hardwareKey: true,
        touchPolicy: "cached",
        securityMode: "trusted_workstation",
        pinStorageMethod: "tpm",
      },
      unknown: { deep: [1, null, { x: "y" }] },
    },
    auto: {
      provider: "github",
      host: "github.com",
      user: "ada",
      email: "",
      organizations: [],
      gpg: { keyId: "auto", signCommits: "true" },
    },
    signer: {
      provider: "custom",
      hostname: "git.corp.example",
      email: "not an address",
      sshKeyPath: "relative/key",
      tokenEnvVar: "TOKEN",
      gpg: { format: "ssh", sshKeyPath: "~/.ssh/sign.pub", signCommits: false },
    },
    bare: {},
    odd: { provider: 7, organizations: "acme", gpg: null, user: ["x"] },
  },
  settings: { defaultProvider: "gitlab", autoDetect: true, useKeychain: false },
  state: { currentIdentity: "gitlab-work", lastSwitch: "2026-01-15T10:30:00Z" },
  _managed_ssh_hosts: [{ host: "gitlab-work", hostname: "gitlab.com" }],
  _managed_gitconfig_rewrites: {},
};

describe("importJuggler()", () => {
  it("takes every field that Trunkline uses, known or not beside them (RemoteJuggler defect 4)", () => {
    const { identities, rest } = importJuggler(JSON.stringify(FULL), "config.json");
    assert.deepEqual(Object.keys(identities), Object.keys(FULL.identities));
    assert.deepEqual(identities["gitlab-work"], {
      provider: "gitlab",
      sshHost: "gitlab-work",
      host: "gitlab.com",
      user: "ada",
      email: "ada@acme.example",
      sshKey: "~/.ssh/id_work",
      organizations: ["acme", "acme/infra"],
      tokenSource: {
        kind: "keychain",
        variable: "GITLAB_TOKEN",
        service: "remote-juggler.gitlab.work",
      },
      signing: {
        format: "openpgp",
        key: "ABCDEF",
        signCommits: true,
        signTags: false,
        hardware: true,
        touchPolicy: "cached",
      },
    });
    assert.deepEqual(identities.bare, { provider: "other" });
    assert.deepEqual(identities.odd, { provider: "other" });
    const { identities: _, ...others } = FULL;
    assert.deepEqual(rest, others);
  });

  it("shows what it has read as RemoteJuggler has it", () => {
    const { identities, rest } = importJuggler(JSON.stringify(FULL), "config.json");
    const view = jugglerView(identities, rest) as typeof FULL;
    const { keePassEntry: _, unknown: __, gpg, ...known } = FULL.identities["gitlab-work"];
    const { autoSignoff: ___, securityMode: ____, pinStorageMethod: _____, ...used } = gpg;
    const { sshKeyPath: ______, ...signing } = used;
    assert.deepEqual(view.identities["gitlab-work"], { ...known, gpg: signing });
    assert.deepEqual(view.settings, FULL.settings);
  });

  it("reads fields that the original's own loader ignores (RemoteJuggler defect 4)", () => {
    const { identities } = importJuggler(JSON.stringify(FULL), "config.json");
    const work = identities["gitlab-work"];
    assert.deepEqual(work?.organizations, ["acme", "acme/infra"]);
    assert.deepEqual(work?.tokenSource, {
      kind: "keychain",
      variable: "GITLAB_TOKEN",
      service: "remote-juggler.gitlab.work",
    });
    assert.equal(work?.signing?.signCommits, true);
    assert.equal(identities.auto?.signing?.signCommits, true, "with quotes too");
    assert.equal(identities.signer?.signing?.signCommits, false);
    assert.equal(work?.sshHost, "gitlab-work");
    assert.equal(work?.host, "gitlab.com");
  });

  it("never keeps the format gpg (RemoteJuggler defect 1)", () => {
    const { identities } = importJuggler(JSON.stringify(FULL), "config.json");
    assert.equal(identities["gitlab-work"]?.signing?.format, "openpgp");
    assert.equal(identities.signer?.signing?.format, "ssh");
    assert.equal(identities.signer?.signing?.key, "~/.ssh/sign.pub");
    assert.equal(identities.auto?.signing?.key, undefined);
  });

  it("shows the current values, not the imported ones", () => {
    const { identities } = importJuggler(JSON.stringify(FULL), "config.json");
    const auto = identities.auto;
    assert.ok(auto?.signing !== undefined);
    const changed = {
      auto: {
        ...auto,
        email: "new@example.com",
        organizations: ["x"],
        signing: { ...auto.signing, signCommits: false, key: "FEDCBA" },
      },
    };
    const exported = jugglerView(changed) as typeof FULL;
    assert.equal(exported.identities.auto.email, "new@example.com");
    assert.deepEqual(exported.identities.auto.organizations, ["x"]);
    assert.equal(exported.identities.auto.gpg.signCommits, false);
    assert.equal(exported.identities.auto.gpg.keyId, "FEDCBA");
  });

  it("leaves secrets out, and lists them", () => {
    const token = "glpat-0123456789abcdefghij";
    const config = { identities: { work: { provider: "gitlab", token, note: `see ${token}` } } };
    const read = importJuggler(JSON.stringify({ ...config, pin: "123456" }), "config.json");
    assert.doesNotMatch(JSON.stringify({ ...read, secrets: [] }), /glpat|123456/);
    assert.deepEqual(read.secrets.toSorted(), [
      "identities.work.note",
      "identities.work.token",
      "pin",
    ]);
  });

  it("reports what is wrong with a file that is not RemoteJuggler's", () => {
    for (const text of ["", "[]", "{}", '{"identities":[]}', '{"identities":{"x":1}}', "{"]) {
      assert.throws(() => importJuggler(text, "f.json"), /Cannot import 'f\.json'/, text);
    }
  });

  it("is not affected by __proto__", () => {
    const text = '{"identities":{"x":{"__proto__":{"polluted":1},"provider":"github"}}}';
    importJuggler(text, "f.json");
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { exportJuggler, importJuggler } from "./import-juggler.ts";

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

function roundTrip(config: unknown): unknown {
  const { identities, rest } = importJuggler(JSON.stringify(config), "config.json");
  // As it comes back from a file.
  const kept = JSON.parse(JSON.stringify({ identities, rest })) as typeof FULL & { rest: object };
  return exportJuggler(kept.identities as never, kept.rest as never);
}

describe("importJuggler()", () => {
  it("loses no field, known or not (RemoteJuggler defect 4)", () => {
    assert.deepEqual(roundTrip(FULL), FULL);
    assert.deepEqual(roundTrip({ identities: {} }), { identities: {} });
  });

  it("loses no field in 300 combinations of present and missing ones", () => {
    const fields = Object.entries(FULL.identities["gitlab-work"]);
    const gpg = Object.entries(FULL.identities["gitlab-work"].gpg);
    for (let mask = 1; mask <= 300; mask++) {
      const pick = <T>(all: [string, T][], bits: number) => {
        return Object.fromEntries(all.filter((_, at) => (bits >> (at % 16)) & 1));
      };
      const bits = (mask * 0x9e3779b1) >>> 0;
      const identity: Record<string, unknown> = pick<unknown>(fields, bits >>> 8);
      if ("gpg" in identity) identity.gpg = pick<unknown>(gpg, bits);
      const config = { identities: { x: identity } };
      assert.deepEqual(roundTrip(config), config, JSON.stringify(config));
    }
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

  it("exports the current values, not the imported ones", () => {
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
    const exported = exportJuggler(changed) as typeof FULL;
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

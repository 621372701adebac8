import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { type IdentitySettings, resolveIdentity } from "../identity.ts";
import { gitBlockLines, includeConditions, includedFile, sshBlockLines } from "./managed-blocks.ts";

const BASE = { provider: "github", sshHost: "gh-work", sshKey: '/k/a "b" %h' } as const;

function identity(more: Partial<IdentitySettings> = {}) {
  return resolveIdentity("work", { ...BASE, ...more }, { HOME: "/h" });
}

describe("sshBlockLines()", () => {
  it("writes host and key so that ssh reads them, and does not affect the lines after it", () => {
    using sample = new SampleRepository();
    const text = [...sshBlockLines([identity()]), "Port 2222", ""].join("\n");
    const file = sample.write("config", text);
    const ask = (host: string): string => {
      const stdio: ["ignore", "pipe", "ignore"] = ["ignore", "pipe", "ignore"];
      return execFileSync("ssh", ["-F", file, "-G", host], { stdio, encoding: "utf8" });
    };
    assert.match(ask("gh-work"), /^hostname github\.com$/m);
    assert.match(ask("gh-work"), /^identityfile \/k\/a "b" (?:%h|%%h)$/m);
    assert.match(ask("elsewhere"), /^port 2222$/m);
  });

  it("leaves the port of the web server out", () => {
    const [, name] = sshBlockLines([identity({ host: "git.corp:8443" })]);
    assert.equal(name?.trim(), "HostName git.corp");
  });

  it("leaves out identities that need no SSH host, and writes nothing if there are none", () => {
    const plain = identity({ sshHost: "github.com" });
    const { sshKey: _, ...keyless } = BASE;
    assert.deepEqual(sshBlockLines([plain, resolveIdentity("x", keyless)]), []);
  });
});

describe("includeConditions()", () => {
  const texts = (more: Partial<IdentitySettings>) =>
    includeConditions(identity(more)).map(({ text }) =>
      text.replace("hasconfig:remote.*.url:", ""),
    );

  it("has a condition for each folder and for the SSH host, but not for rules with more conditions", () => {
    const match = [{ path: "~/clients//" }, { path: "/x", host: "github.com" }];
    assert.deepEqual(texts({ match }), ["git@gh-work:*/**", "gitdir:/h/clients/"]);
  });

  it("has one for each form of an address of an owner, on the identity's host or that of the rule", () => {
    const of = (web: string, ssh: string, owner: string) => [
      ...[`https://${web}/${owner}/**`, `https://*@${web}/${owner}/**`],
      ...[
        `git@${ssh}:${owner}/**`,
        `ssh://git@${ssh}/${owner}/**`,
        `ssh://git@${ssh}:*/${owner}/**`,
      ],
    ];
    const match = [{ owner: "infra", host: "git.acme.test" }];
    const found = texts({
      host: "git.corp:8443",
      sshHost: "git.corp:8443",
      organizations: ["a/b"],
      match,
    });
    const rule = of("git.acme.test", "git.acme.test", "infra");
    assert.deepEqual(found, [...of("git.corp:8443", "git.corp", "a/b"), ...rule]);
  });
});

describe("gitBlockLines()", () => {
  it("is read by git as intended, whatever the names", () => {
    using sample = new SampleRepository();
    const file = includedFile('/a "b\\c', identity());
    const condition = 'gitdir:/x "y\\z/';
    const text = gitBlockLines([{ condition, file }]).join("\n");
    const path = sample.write("config", `${text}\n`);
    const key = `includeIf.${condition}.path`;
    assert.equal(sample.run("config", "--file", path, "--no-includes", "--get", key), file);
  });
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { HOME, WORK } from "../../../test/samples/sample-identities.ts";
import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { covers } from "../../../test/support/requirement.ts";
import type { Arguments } from "../../tool/tool.ts";
import { openIdentityCommands } from "../identity-commands.ts";
import type { IdentitySettings } from "../identity.ts";
import { IDENTITY_TOOLS, type ToolCommands, type ToolHandler } from "./switch-tools.ts";

/** A repository on github.com, and what a tool answers in it. */
class Rig extends SampleRepository {
  readonly commands: ToolCommands;

  constructor(settings: Readonly<Record<string, IdentitySettings>> = { work: WORK, home: HOME }) {
    super();
    this.run("remote", "add", "origin", "git@github.com:acme/app.git");
    const check = async (): Promise<undefined> => undefined;
    const edit = async (): Promise<void> => assert.fail("nothing is edited here");
    const file = { path: join(this.home, "config.jsonc"), isNamed: false, edit, check };
    const data = join(this.home, "data");
    const env = { ...this.env, TRUNKLINE_TOKEN_STORE: "file" };
    const commands = openIdentityCommands({ settings, file, data, env, cwd: this.path });
    this.commands = Object.assign(commands, { reload: () => assert.fail("nothing is reloaded") });
  }

  async text(
    tool: keyof typeof IDENTITY_TOOLS,
    args: Arguments = {},
    folder = this.path,
  ): Promise<string> {
    const call: ToolHandler = (...given) => IDENTITY_TOOLS[tool](...given);
    return (await call(args, this.commands, () => folder)).join("\n");
  }

  get origin(): string {
    return this.run("config", "remote.origin.url");
  }
}

describe("juggler_switch", () => {
  it("rewrites remotes if asked, and otherwise only if there is no key to pin", async () => {
    covers("identity.mcp.call.set-remote");
    const { sshKey: _, ...keyless } = WORK;
    using rig = new Rig({ work: WORK, keyless });
    const before = rig.origin;
    assert.match(
      await rig.text("juggler_switch", { identity: "work" }),
      /^Switched to identity: work\n/,
    );
    assert.equal(rig.origin, before);
    await rig.text("juggler_switch", { identity: "keyless", setRemote: false });
    assert.equal(rig.origin, before);
    await rig.text("juggler_switch", { identity: "work", setRemote: true });
    assert.equal(rig.origin, "git@gh-work:acme/app.git");
    rig.run("remote", "set-url", "origin", before);
    await rig.text("juggler_switch", { identity: "keyless" });
    assert.equal(rig.origin, "git@gh-work:acme/app.git");
  });

  it("leaves signing alone if asked, and says how to undo everything", async () => {
    using rig = new Rig();
    const said = await rig.text("juggler_switch", {
      identity: "home",
      configureGPG: false,
    });
    assert.throws(() => rig.run("config", "commit.gpgSign"));
    assert.match(said, /trunkline identity undo --id [0-9a-f-]{36}$/);
    assert.doesNotMatch(said, /Signing/);
    const again = await rig.text("juggler_switch", {
      identity: "home",
      configureGPG: false,
    });
    assert.doesNotMatch(again, /undo/);
  });
});

describe("juggler_status", () => {
  it("warns if the active identity does not match the repository", async () => {
    using rig = new Rig();
    await rig.text("juggler_switch", { identity: "home", configureGPG: false });
    const wrong = await rig.text("juggler_status");
    assert.match(wrong, /^Current identity: home \(local\)$/m);
    assert.match(wrong, /\[WARN\].*'work'/);
    await rig.text("juggler_switch", { identity: "work" });
    const right = await rig.text("juggler_status", { verbose: true });
    assert.doesNotMatch(right, /\[WARN\]/);
    assert.match(
      right,
      /Recent changes:\n {2}.* switch home \(done\)\n {2}.* switch work \(done\)/,
    );
  });
});

describe("juggler_detect_identity", () => {
  it("gives the reason, and refuses a folder outside of a repository", async () => {
    using rig = new Rig();
    const found = await rig.text("juggler_detect_identity");
    assert.match(found, /^Detected Identity: work$/m);
    assert.match(found, /^Confidence: high$/m);
    await assert.rejects(rig.text("juggler_detect_identity", {}, rig.home), {
      code: "not-found",
    });
  });
});

describe("juggler_list_identities", () => {
  it("lists those of a provider, with the state of their tokens if asked", async () => {
    const none = { ...HOME, provider: "gitlab", tokenSource: { kind: "none" } } as const;
    using rig = new Rig({ work: WORK, none });
    const all = await rig.text("juggler_list_identities", {
      includeCredentialStatus: true,
    });
    assert.match(all, /- work\n.*\n.*\n.*\n {2}SSH Host: gh-work\n {2}Credentials: none/);
    assert.doesNotMatch(
      await rig.text("juggler_list_identities", { provider: "gitlab" }),
      /- work/,
    );
    assert.match(
      await rig.text("juggler_list_identities", { provider: "bitbucket" }),
      /for bitbucket/,
    );
  });
});

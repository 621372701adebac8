import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { FAULT_META, type ToolResult } from "../../tool/tool.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { SampleContext } from "../../../test/samples/sample-context.ts";
import { runFromShell } from "../../../test/support/run-from-shell.ts";
import { loadConfig } from "../../config/load.ts";
import { AppContext } from "../../config/app-context.ts";
import { offerIdentities } from "../identities-offer.ts";

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

/** A home with a configuration and a repository, and the tools as a door has them. */
class Sample implements Disposable {
  readonly home = mkdtempSync(join(tmpdir(), "tl-offer-"));
  readonly repository = join(this.home, "app");
  readonly env: NodeJS.ProcessEnv;
  readonly entries: unknown[] = [];
  readonly #file = join(this.home, ".config/trunkline/config.jsonc");
  #offer: Offer | undefined;

  constructor(identities: object = {}) {
    this.env = {
      PATH: process.env.PATH,
      HOME: this.home,
      GNUPGHOME: join(this.home, "gpg"),
      GIT_CONFIG_NOSYSTEM: "1",
      TRUNKLINE_TOKEN_STORE: "file",
      TRUNKLINE_TOKEN_KEY: "words",
    };
    mkdirSync(join(this.home, ".config/trunkline"), { recursive: true });
    mkdirSync(join(this.home, "gpg"), { mode: 0o700 });
    mkdirSync(join(this.repository, "deep/down"), { recursive: true });
    this.configure({ identities });
    this.git("init", "-q");
    this.git("remote", "add", "origin", "git@github.com:acme/app.git");
  }

  configure(config: object | string): void {
    writeFileSync(this.#file, typeof config === "string" ? config : JSON.stringify(config));
  }

  git(...args: string[]): string {
    return runFromShell("git", args, { cwd: this.repository, env: this.env }).trim();
  }

  async call(name: string, args: object = {}, folder = this.repository): Promise<ToolResult> {
    const context = new SampleContext({ folder });
    return await (await this.offer()).tools.call(name, { ...args }, context);
  }

  async text(name: string, args: object = {}, folder?: string): Promise<string> {
    return String((await this.call(name, args, folder)).content[0]?.text);
  }

  async offer(): Promise<Offer> {
    if (this.#offer !== undefined) return this.#offer;
    const { env } = this;
    const input = { cwd: this.repository, env, flags: {} };
    const { config } = await loadConfig({ ...input, flags: {} });
    const reloading = { files: [this.#file], load: async () => (await loadConfig(input)).config };
    const audit = { record: (entry: unknown) => void this.entries.push(entry) };
    this.#offer = new Offer({ audit });
    offerIdentities(new AppContext(config, reloading), this.#offer, { folder: this.home, env });
    return this.#offer;
  }

  [Symbol.dispose](): void {
    runFromShell("gpgconf", ["--kill", "all"], { env: this.env });
    rmSync(this.home, { recursive: true, force: true, maxRetries: 3 });
  }
}

const WORK = { provider: "github", user: "ada", email: "ada@acme.test", organizations: ["acme"] };
const HOME = { provider: "gitlab", user: "countess", email: "ada@home.test", sshHost: "gl-home" };
const BOTH = { work: WORK, home: HOME };

describe("RemoteJuggler's tools", () => {
  it("are all offered, under their names", async () => {
    using sample = new Sample();
    const names = (await sample.offer()).tools.list().map(({ definition }) => definition.name);
    assert.equal(names.length, 15);
    assert.ok(names.every((name) => /^juggler_[a-z_]+$/.test(name)));
  });

  it("list identities, of one provider or all, and their credentials", async () => {
    using sample = new Sample(BOTH);
    const all = await sample.text("juggler_list_identities");
    assert.match(
      all,
      /^Configured Git Identities:\n\n- work\n {2}Provider: github\n {2}User: ada\n/,
    );
    assert.match(all, /- home\n.*SSH Host: gl-home/s);
    assert.doesNotMatch(
      await sample.text("juggler_list_identities", { provider: "gitlab" }),
      /- work\n/,
    );
    await sample.call("juggler_store_token", { identity: "work", token: TOKEN });
    const args = { includeCredentialStatus: true };
    assert.match(
      await sample.text("juggler_list_identities", args),
      /Credentials: ghp_•+6789 in an/,
    );
  });

  it("switch, and fail, with the words of the RemoteJuggler document", async () => {
    using sample = new Sample(BOTH);
    const text = await sample.text("juggler_switch", { identity: "work", setRemote: true });
    assert.match(text, /^Switched to identity: work\n/);
    assert.equal(sample.git("config", "user.email"), "ada@acme.test");
    const failed = await sample.call("juggler_switch", { identity: "wrok" });
    assert.deepEqual(failed.content, [{ type: "text", text: "Error: Identity not found" }]);
    assert.equal(failed.isError, true);
    assert.equal(failed._meta?.[FAULT_META], "identity-not-found");
    assert.match(JSON.stringify(failed.structuredContent), /Did you mean 'work'/);
  });

  it("honour booleans that are booleans (RemoteJuggler defect 2)", async () => {
    using sample = new Sample({
      home: {
        ...HOME,
        host: "github.com",
        signing: { format: "openpgp", key: "ABCDEF0123456789" },
      },
    });
    sample.git("config", "commit.gpgSign", "false");
    const args = { identity: "home", setRemote: false, configureGPG: false };
    await sample.call("juggler_switch", args);
    assert.equal(sample.git("remote", "get-url", "origin"), "git@github.com:acme/app.git");
    assert.equal(sample.git("config", "commit.gpgSign"), "false");
    assert.throws(() => sample.git("config", "user.signingKey"));
    await sample.call("juggler_switch", { identity: "home", setRemote: true, configureGPG: true });
    assert.equal(sample.git("config", "remote.origin.url"), "git@gl-home:acme/app.git");
    assert.equal(sample.git("config", "user.signingKey"), "ABCDEF0123456789");
    const refused = await sample.call("juggler_switch", { identity: "home", setRemote: "false" });
    assert.match(String(refused.content[0]?.text), /setRemote.*boolean/);
  });

  it("change no file when a sync is a dry run (RemoteJuggler defect 2)", async () => {
    using sample = new Sample({ home: { ...HOME, sshKey: "~/.ssh/id", match: [{ path: "~/x" }] } });
    const config = join(sample.home, ".gitconfig");
    writeFileSync(config, "[user]\n\tname = x\n");
    const dry = await sample.text("juggler_sync_config", { dryRun: true });
    assert.match(dry, /\[DRY RUN\] .*\.ssh\/config\n.*\+ Host gl-home/s);
    assert.equal(readFileSync(config, "utf8"), "[user]\n\tname = x\n");
    assert.match(await sample.text("juggler_sync_config"), /^Configuration synchronized\n\[OK\]/);
    assert.match(readFileSync(join(sample.home, ".ssh/config"), "utf8"), /Host gl-home/);
    assert.match(readFileSync(config, "utf8"), /^\[user\]\n\tname = x\n/);
  });

  it("detect from a subfolder (RemoteJuggler defect 6), and say so if there is nothing", async () => {
    using sample = new Sample(BOTH);
    const text = await sample.text("juggler_detect_identity", { repoPath: "deep/down" });
    assert.match(text, /^Detected Identity: work$/m);
    assert.match(text, /^Confidence: high$/m);
    const none = await sample.call("juggler_detect_identity", { repoPath: sample.home });
    assert.equal(none.isError, true);
    assert.match(String(none.content[0]?.text), /^Error: Not a git repository/);
  });

  it("leave URLs alone that need no change, whatever form they have (RemoteJuggler defect 7)", async () => {
    using sample = new Sample({ work: { ...WORK, sshKey: "/keys/work", sshHost: "gh-work" } });
    sample.git("remote", "set-url", "origin", "https://github.com/acme/app.git");
    sample.git("remote", "add", "mirror", "ssh://git@github.com:443/acme/app.git");
    const before = readFileSync(join(sample.repository, ".git/config"), "utf8");
    await sample.call("juggler_switch", { identity: "work" });
    assert.equal(sample.git("config", "remote.origin.url"), "https://github.com/acme/app.git");
    assert.equal(
      sample.git("config", "remote.mirror.url"),
      "ssh://git@github.com:443/acme/app.git",
    );
    assert.match(before, /mirror/);
  });

  it("store, show, verify and clear tokens, and never reveal one", async () => {
    using sample = new Sample({ work: { ...WORK, provider: "other", host: "git.test" } });
    const texts = [
      await sample.text("juggler_store_token", { identity: "work", token: TOKEN }),
      await sample.text("juggler_token_get", { identity: "work" }),
      await sample.text("juggler_status", { verbose: true }),
      await sample.text("juggler_config_show"),
      await sample.text("juggler_token_verify", { identity: "work" }),
      await sample.text("juggler_token_clear", { identity: "work" }),
    ];
    assert.match(
      texts[0] ?? "",
      /^Token stored for identity: work\n\[OK\] ghp_•+6789 in an encrypted file/,
    );
    assert.match(texts[1] ?? "", /^Token: ghp_•+6789$/m);
    assert.match(texts[5] ?? "", /^Token cleared for identity: work$/);
    assert.match(await sample.text("juggler_token_get", { identity: "work" }), /^No token stored/);
    // The record of the calls is safe too.
    for (const text of [...texts, JSON.stringify(sample.entries)]) assert.ok(!text.includes(TOKEN));
  });

  it("answer with the kind of error if a store, a check or a file fails", async () => {
    using sample = new Sample({ work: { ...WORK, host: "host.invalid" } });
    const kindOf = async (name: string, args: object): Promise<unknown> => {
      const { isError, _meta } = await sample.call(name, args);
      assert.equal(isError, true);
      return _meta?.[FAULT_META];
    };
    await sample.call("juggler_store_token", { identity: "work", token: TOKEN });
    assert.equal(await kindOf("juggler_validate", { identity: "work" }), "validation-failed");
    sample.env.TRUNKLINE_TOKEN_KEY = "other words";
    assert.equal(await kindOf("juggler_token_get", { identity: "work" }), "keychain");
    sample.configure("{ nonsense");
    assert.equal(await kindOf("juggler_list_identities", {}), "config");
  });

  it("know identities that were added after the start", async () => {
    using sample = new Sample({});
    assert.match(await sample.text("juggler_list_identities"), /^No identities configured/);
    sample.configure({ identities: BOTH });
    assert.match(await sample.text("juggler_switch", { identity: "work" }), /^Switched/);
  });

  it("set up from RemoteJuggler's own file and from ssh's, without losing anything", async () => {
    using sample = new Sample({});
    const theirs = join(sample.home, ".config/remote-juggler");
    mkdirSync(theirs, { recursive: true });
    const config = {
      version: "2.0.0",
      identities: {
        old: {
          provider: "gitlab",
          host: "gl-old",
          user: "u",
          email: "u@x.test",
          organizations: ["o"],
        },
      },
      settings: { defaultProvider: "gitlab" },
    };
    writeFileSync(join(theirs, "config.json"), JSON.stringify(config));
    mkdirSync(join(sample.home, ".ssh"), { mode: 0o700 });
    writeFileSync(join(sample.home, ".ssh/config"), "Include more\nHost *\n  User git\n");
    writeFileSync(
      join(sample.home, ".ssh/more"),
      "Host gh-new other\n  HostName github.com\n  ConnectTimeout 1\n",
    );
    const text = await sample.text("juggler_setup", { mode: "auto" });
    assert.match(text, /\[OK\] Imported 'old' from .*config\.json/);
    assert.match(text, /\[OK\] 'gh-new' from the SSH host gh-new/);
    const list = await sample.text("juggler_list_identities");
    assert.match(list, /- old\n.*SSH Host: gl-old/s);
    assert.match(list, /- gh-new\n {2}Provider: github/);
    const shown = JSON.parse(await sample.text("juggler_config_show")) as typeof config;
    assert.deepEqual(shown.identities.old, config.identities.old);
    assert.deepEqual(shown.settings, config.settings);
    assert.match(await sample.text("juggler_setup", { mode: "auto" }), /\[SKIP\] 'gh-new'/);
  });

  it("find the signing key of an identity, and say whether it can sign without a person", async () => {
    using sample = new Sample(BOTH);
    const make = [
      "--batch",
      "--pinentry-mode",
      "loopback",
      "--passphrase",
      "",
      "--quick-generate-key",
    ];
    runFromShell("gpg", [...make, "Ada <ada@acme.test>", "ed25519", "sign", "1y"], {
      env: sample.env,
    });
    assert.match(
      await sample.text("juggler_setup", { mode: "import_gpg" }),
      /\[OK\] 'work' signs with/,
    );
    const status = await sample.text("juggler_gpg_status", { identity: "work" });
    assert.match(status, /^Can Sign Automatically: yes$/m);
    assert.match(status, /^Agent Guidance: Commits can be made now\.$/m);
  });

  it("keep the security mode, and do not promise what does not exist", async () => {
    using sample = new Sample(BOTH);
    assert.match(await sample.text("juggler_security_mode"), /developer_workflow/);
    await sample.call("juggler_security_mode", { mode: "maximum_security" });
    assert.match(
      await sample.text("juggler_security_mode"),
      /^Current security mode: maximum_security/,
    );
    const refused = await sample.call("juggler_security_mode", { mode: "trusted_workstation" });
    assert.equal(refused.isError, true);
    assert.match(await sample.text("juggler_status", { verbose: true }), /maximum_security/);
  });

  it("show what ssh would do for each host, and try it", async () => {
    using sample = new Sample(BOTH);
    assert.match(await sample.text("juggler_debug_ssh"), /No hosts/);
    mkdirSync(join(sample.home, ".ssh"), { mode: 0o700 });
    writeFileSync(join(sample.home, ".ssh/id"), "key", { mode: 0o644 });
    writeFileSync(
      join(sample.home, ".ssh/config"),
      "Host here\n  HostName host.invalid\n  IdentityFile ~/.ssh/id\n  Port 2222\n",
    );
    const text = await sample.text("juggler_debug_ssh");
    assert.match(text, /- here\n {2}HostName: host\.invalid\n/);
    assert.match(text, /Port: 2222/);
    assert.match(text, /\[FAIL\] other users may read it: chmod 600/);
    assert.match(text, /\[FAIL\] .*resolve hostname/);
  });
});

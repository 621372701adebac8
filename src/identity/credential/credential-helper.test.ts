import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Git } from "../../git/git.ts";
import { runFromShell } from "../../../test/support/run-from-shell.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { type IdentitySettings, resolveIdentities } from "../identity.ts";
import { readGitContext } from "../detect/detect.ts";
import { SampleKeychain } from "../../../test/samples/sample-keychain.ts";
import { type Tokens, openTokens } from "../tokens/tokens.ts";
import { answerCredential, parseCredential, rejectedIdentity } from "./credential-helper.ts";

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
const SETTINGS: Readonly<Record<string, IdentitySettings>> = {
  work: { provider: "github", user: "ada", email: "ada@acme.test", organizations: ["acme"] },
  home: { provider: "github", user: "countess", email: "ada@home.test" },
};

class Commands implements AsyncDisposable {
  readonly #folder: SampleFolder;
  readonly tokens: Tokens;
  readonly repository: string;
  readonly env: NodeJS.ProcessEnv;
  identities = resolveIdentities(SETTINGS);

  constructor(folder: SampleFolder) {
    this.#folder = folder;
    const keychain = new SampleKeychain();
    this.tokens = openTokens({
      data: folder.path,
      configFolder: folder.path,
      env: {},
      openKeychain: async () => keychain,
    });
    this.repository = join(folder.path, "app");
    mkdirSync(this.repository, { recursive: true });
    this.env = { PATH: process.env.PATH, HOME: folder.path, GIT_CONFIG_NOSYSTEM: "1" };
    this.git("init", "-q");
  }

  git(...args: string[]): void {
    runFromShell("git", args, { cwd: this.repository, env: this.env });
  }

  async ask(text: string, acting: string | undefined = "work") {
    const env = { ...this.env, ...(acting === "" ? {} : { TRUNKLINE_IDENTITY: acting }) };
    const context = await readGitContext(new Git(this.repository, { env }));
    const { identities, tokens } = this;
    return await answerCredential(parseCredential(text), { identities, tokens, context, env });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
  }
}

async function openCommands(): Promise<Commands> {
  const commands = new Commands(await SampleFolder.create());
  const [work] = commands.identities;
  assert.ok(work);
  await commands.tokens.save(work, TOKEN);
  return commands;
}

const asked = (path = "acme/app.git", more = ""): string =>
  `protocol=https\nhost=github.com\npath=${path}\n${more}\n`;

describe("answerCredential()", () => {
  it("answers with the token for a repository of the active identity", async () => {
    await using commands = await openCommands();
    const { text, identity, refused } = await commands.ask(asked());
    assert.equal(text, `username=ada\npassword=${TOKEN}\n`);
    assert.deepEqual([identity, refused], ["work", undefined]);
  });

  it("tells git to quit for a repository of another identity", async () => {
    await using commands = await openCommands();
    const { text, refused } = await commands.ask(asked("acme/app.git"), "home");
    assert.equal(text, "quit=1\n");
    assert.match(refused ?? "", /belongs to identity 'work', but 'home' is active/);
    assert.match(refused ?? "", /identity switch work/);
  });

  const CASES: readonly (readonly [string, string, RegExp])[] = [
    ["another host", "protocol=https\nhost=evil.test\npath=acme/app.git\n\n", /not for evil\.test/],
    ["another port", "protocol=https\nhost=github.com:8443\npath=acme/a.git\n\n", /8443/],
    [
      "a host that begins alike",
      "protocol=https\nhost=github.com.evil.test\npath=acme/a\n\n",
      /evil/,
    ],
    ["plain http", "protocol=http\nhost=github.com\npath=acme/app.git\n\n", /unencrypted/],
    ["no path", "protocol=https\nhost=github.com\n\n", /useHttpPath/],
    ["another user", asked("acme/app.git", "username=mallory\n"), /user 'mallory'/],
    ["nothing", "", /^git does not say by which protocol/],
  ];
  for (const [what, text, why] of CASES) {
    it(`tells git to quit when asked for ${what}`, async () => {
      await using commands = await openCommands();
      const verdict = await commands.ask(text);
      assert.equal(verdict.text, "quit=1\n");
      assert.match(verdict.refused ?? "", why);
    });
  }

  it("tells git to quit if no identity is active", async () => {
    await using commands = await openCommands();
    const verdict = await commands.ask(asked(), "");
    assert.equal(verdict.text, "quit=1\n");
    assert.match(verdict.refused ?? "", /no identity is active here\. .*switch work/);
    commands.git("config", "trunkline.identity", "work");
    assert.equal((await commands.ask(asked(), "")).refused, undefined);
  });

  it("gives a token for a host with a port only to repositories of its identity", async () => {
    await using commands = await openCommands();
    const host = "git.corp:8443";
    commands.identities = resolveIdentities({
      work: { provider: "github", user: "ada", host, organizations: ["acme"] },
      home: { provider: "github", user: "countess", host, organizations: ["home"] },
    });
    const ask = async (where: string, path: string) => {
      const text = `protocol=https\nhost=${where}\npath=${path}\n\n`;
      return (await commands.ask(text)).refused ?? "given";
    };
    assert.equal(await ask(host, "acme/app.git"), "given");
    assert.match(await ask(host, "home/app.git"), /belongs to identity 'home'/);
    assert.match(await ask("git.corp:9443", "acme/app.git"), /not for git\.corp:9443/);
    assert.match(await ask("git.corp", "acme/app.git"), /is for git\.corp:8443, not for git\.corp/);
  });

  it("takes the usual port for the host itself", async () => {
    await using commands = await openCommands();
    const text = "protocol=https\nhost=github.com:443\npath=acme/app.git\n\n";
    assert.equal((await commands.ask(text)).refused, undefined);
  });

  it("does not apply a folder's rule to a host that the token is not for", async () => {
    await using commands = await openCommands();
    const match = [{ path: commands.repository }];
    commands.identities = resolveIdentities({
      work: { ...SETTINGS.work, provider: "github", match },
    });
    const text = "protocol=https\nhost=evil.test\npath=x/y.git\n\n";
    assert.match(
      (await commands.ask(text)).refused ?? "",
      /is for github\.com, not for evil\.test/,
    );
  });

  for (const [key, value] of [
    ["http.proxy", "http://evil.test"],
    ["http.https://github.com/.sslVerify", "false"],
    ["http.sslCAInfo", "evil.pem"],
  ] as const) {
    it(`does not give the token to a repository that sets ${key}`, async () => {
      await using commands = await openCommands();
      commands.git("config", key, value);
      const verdict = await commands.ask(asked());
      assert.equal(verdict.text, "quit=1\n");
      assert.match(verdict.refused ?? "", /own configuration sets http\./);
      commands.git("config", "--unset-all", key);
      commands.git("config", "--global", key, value);
      assert.equal((await commands.ask(asked())).refused, undefined);
    });
  }

  it("does not give out an expired token", async () => {
    await using commands = await openCommands();
    const [work] = commands.identities;
    assert.ok(work);
    await commands.tokens.note(work, { expires: "2020-01-01T00:00:00Z" });
    const verdict = await commands.ask(asked());
    assert.match(verdict.refused ?? "", /expired on 2020/);
    assert.equal(verdict.text, "quit=1\n");
    await commands.tokens.note(work, { expires: "2999-01-01T00:00:00Z" });
    assert.match((await commands.ask(asked())).text, /^password_expiry_utc=32472144000$/m);
  });

  it("knows whose token a server refused, and keeps the token", async () => {
    await using commands = await openCommands();
    const [work] = commands.identities;
    assert.ok(work);
    const context = await readGitContext(new Git(commands.repository, { env: commands.env }));
    const options = { context, identities: commands.identities, tokens: commands.tokens, env: {} };
    const erased = parseCredential(asked("acme/app.git", `username=ada\npassword=${TOKEN}\n`));
    assert.equal(await rejectedIdentity(erased, options), "work");
    assert.equal((await commands.tokens.find(work))?.token, TOKEN);
    const other = parseCredential(asked("acme/app.git", "password=somebody-elses\n"));
    assert.equal(await rejectedIdentity(other, options), undefined);
  });
});

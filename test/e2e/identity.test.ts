import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { PROGRAM_CACHE } from "../support/leftovers.ts";
import { type Ran, runInProcess } from "../support/run-in-process.ts";

const ROOT = join(import.meta.dirname, "../..");

const GITHUB = ["--provider", "github"];
const ADD_WORK = [
  ...["add", "work", ...GITHUB, "--user", "ada-acme", "--email", "ada@acme.example"],
  ...["--display-name", "Ada Lovelace", "--ssh-key", "~/.ssh/id_work", "--ssh-host", "gh-work"],
  ...["--organization", "acme"],
];
const ADD_HOME = [
  ...["add", "home", ...GITHUB, "--user", "ada", "--email", "ada@home.example"],
  ...["--signing", "ssh", "--signing-key", "~/.ssh/id_home.pub"],
];

interface Ended {
  readonly code: unknown;
  readonly out: string;
  readonly err: string;
}

/** A home with `trunkline` on the path and a repository in it. */
class Home implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-identity-")));
  readonly app = join(this.path, "app");

  constructor() {
    const program = `#!/bin/sh\nexec "${process.execPath}" "${ROOT}/dist/trunkline.js" "$@"\n`;
    chmodSync(this.write("bin/trunkline", program), 0o755);
    mkdirSync(this.app);
    spawnSync("git", ["init", "-q", "-b", "main"], { cwd: this.app, env: this.env });
  }

  get env(): NodeJS.ProcessEnv {
    return {
      PATH: `${join(this.path, "bin")}:${process.env.PATH ?? ""}`,
      HOME: this.path,
      GIT_CONFIG_NOSYSTEM: "1",
      XDG_CACHE_HOME: PROGRAM_CACHE,
    };
  }

  write(name: string, content: string): string {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  read(name: string): string {
    return readFileSync(join(this.path, name), "latin1");
  }

  /** Runs a line as it is typed into a shell, in the repository. */
  async run(line: string, input?: string): Promise<Ended> {
    const child = spawn("bash", ["-c", line], { env: this.env, cwd: this.app });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[unknown]>,
    ]);
    return { code, out, err };
  }

  /** Runs a line that must succeed, and gives what it prints. */
  async must(line: string): Promise<string> {
    const { code, out, err } = await this.run(line);
    assert.equal(code, 0, `${line}\n${out}${err}`);
    return out;
  }

  /** Runs `trunkline identity` in this process, which is far quicker. */
  identity(args: readonly string[], cwd = this.app): Promise<Ran> {
    return runInProcess(["identity", ...args], { env: this.env, cwd });
  }

  /** The same for words that must succeed; gives what it prints. */
  async does(words: string): Promise<string> {
    const { code, out, err } = await this.identity(words.split(" "));
    assert.equal(code, 0, `${words}\n${out}${err}`);
    return out;
  }

  /** Two identities, as somebody would make them (ADD_WORK, ADD_HOME). */
  async addBoth(): Promise<void> {
    for (const words of [ADD_WORK, ADD_HOME]) {
      const args = words.map((word) => word.replace(/^~/, this.path));
      const { code, err } = await this.identity(args);
      assert.equal(code, 0, err);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

describe("trunkline identity", { timeout: 600_000 }, () => {
  it("goes from adding an identity to undoing a switch, byte for byte", async () => {
    using home = new Home();
    const typed = (words: readonly string[]) =>
      `trunkline identity ${words.map((word) => word.replace(" ", "\\ ")).join(" ")}`;
    for (const words of [ADD_WORK, ADD_HOME]) await home.must(typed(words));
    await home.must("git remote add origin https://github.com/acme/app.git");
    assert.match(await home.must("trunkline identity list"), /^NAME .*\nwork .*ada@acme.example/);
    assert.equal(await home.must("trunkline identity detect"), "work\n");

    const before = home.read("app/.git/config");
    const plan = await home.must("trunkline identity switch work --dry-run");
    assert.match(plan, /\.git\/config\n(?: {2}\+ .*\n){4}/);
    assert.match(plan, /\+ user.email = ada@acme.example/);
    assert.equal(home.read("app/.git/config"), before);

    const done = await home.must("trunkline identity switch work --rewrite-remotes");
    assert.match(done, /^Switched to identity: work\n/);
    await home.must("git commit -q --allow-empty -m x");
    const author = await home.must("git log -1 --format='%an <%ae>'");
    assert.equal(author, "Ada Lovelace <ada@acme.example>\n");
    assert.equal(await home.must("git remote get-url origin"), "git@gh-work:acme/app.git\n");

    const status = JSON.parse(await home.must("trunkline identity status --json")) as object;
    const expected = { current: "work", isRight: true, worktree: home.app };
    assert.deepEqual(status, { ...status, ...expected });
    assert.match(await home.must("trunkline identity undo"), /^Undone/);
    assert.equal(home.read("app/.git/config"), before);
  });

  it("works in a subdirectory, and on a repository elsewhere", async () => {
    using home = new Home();
    await home.addBoth();
    await home.must("mkdir -p deep/er && cd deep/er && trunkline identity switch home");
    assert.equal(await home.must("git config user.email"), "ada@home.example\n");
    await home.must("cd / && trunkline identity switch work --repo ~/app");
    assert.equal(await home.must("git config user.email"), "ada@acme.example\n");
  });

  it("reports at once that the keys of an identity are missing", async () => {
    using home = new Home();
    await home.addBoth();
    const { err } = await home.identity(["switch", "work"]);
    assert.match(err, /^Note: The SSH key '.*id_work' does not exist/m);
    for (const line of ["switch home --dry-run", "switch home"]) {
      const said = (await home.identity(line.split(" "))).err;
      assert.match(said, /^Note: Cannot read the SSH key '.*id_home\.pub'/m);
    }
  });

  it("treats booleans as booleans (RemoteJuggler defect 2)", async () => {
    using home = new Home();
    await home.addBoth();
    await home.must("git remote add origin https://github.com/acme/app.git");
    const plan = await home.does("switch work --dry-run --json");
    const { dryRun, changes } = JSON.parse(plan) as { dryRun: boolean; changes: { key: string }[] };
    assert.equal(dryRun, true);
    assert.ok(changes.every(({ key }) => !key.startsWith("remote.")));
    assert.equal((await home.run("git config user.email")).code, 1);
  });

  it("reports wrong input: what is wrong, and what to do", async () => {
    using home = new Home();
    await home.addBoth();
    const cases: [words: string, code: number, says: RegExp, cwd?: string][] = [
      ["switch wrok", 1, /no identity 'wrok'\. Did you mean 'work'\?/],
      ["swich work", 2, /Did you mean 'identity switch'\?/],
      ["add", 2, /needs NAME/],
      ["add x --user a", 2, /without --provider, --email/],
      ["add x --provider git", 2, /cannot be 'git'/],
      ["add work --provider github --user a --email a@b", 2, /already/],
      ["add -- ../x --provider github", 2, /takes one argument/],
      [
        "add x --provider github --user a --email nonsense",
        2,
        /'email' must be an address such as/,
      ],
      ["add x --provider github --user a\nb --email a@b", 2, /on one line/],
      ["edit work", 2, /Name what to change/],
      ["edit work --match nonsense", 2, /Cannot read the match rule/],
      ["edit work --token-source ghp_x", 2, /never the token itself/],
      ["remove none", 1, /no identity 'none'/],
      ["undo", 1, /nothing has been switched/],
      ["switch work", 1, /'\/' is not in a git repository/, "/"],
      ["switch work --repo /nowhere", 1, /no such folder/],
      ["import nowhere.json", 1, /no such file/],
      ["detect", 1, /No identity matches this folder/],
    ];
    for (const [words, code, says, cwd] of cases) {
      const ended = await home.identity(words.split(" "), cwd);
      assert.equal(ended.code, code, `${words}\n${ended.err}`);
      assert.match(ended.err, says, words);
      assert.doesNotMatch(ended.err, /fault in Trunkline/, words);
    }
  });

  it("keeps comments and layout of the configuration when it changes an identity", async () => {
    using home = new Home();
    const file = ".config/trunkline/config.jsonc";
    home.write(file, '// my file\n{\n  "log": { "level": "warn" }, // quiet\n}\n');
    await home.addBoth();
    await home.does("edit work --email new@acme.example --organization a");
    await home.does("edit work --ssh-host= --token-source env:WORK_TOKEN");
    await home.does("remove home");
    const text = home.read(file);
    assert.match(text, /^\/\/ my file\n\{\n {2}"log": \{ "level": "warn" \}, \/\/ quiet\n/);
    const { identities } = JSON.parse(await home.must("trunkline config show --json")) as {
      identities: Record<string, object>;
    };
    assert.deepEqual(Object.keys(identities), ["work"]);
    assert.deepEqual(identities.work, {
      provider: "github",
      user: "ada-acme",
      email: "new@acme.example",
      displayName: "Ada Lovelace",
      sshKey: join(home.path, ".ssh/id_work"),
      organizations: ["a"],
      tokenSource: { kind: "environment", variable: "WORK_TOKEN" },
    });
  });

  it("imports RemoteJuggler's identities, and exports them unchanged", async () => {
    using home = new Home();
    const config = {
      version: "2.0.0",
      identities: {
        work: {
          provider: "gitlab",
          host: "gitlab-work",
          hostname: "gitlab.com",
          user: "ada",
          email: "ada@acme.example",
          sshKeyPath: "~/.ssh/id_work",
          credentialSource: "keychain",
          keychainService: "remote-juggler.gitlab.work",
          organizations: ["acme"],
          gpg: { keyId: "ABC", format: "gpg", signCommits: true, autoSignoff: false },
        },
      },
      settings: { autoDetect: true },
      state: { currentIdentity: "work" },
    };
    home.write("juggler.json", JSON.stringify(config));
    assert.equal(await home.must("trunkline identity import ~/juggler.json"), "Imported work.\n");
    assert.match(
      await home.does("list"),
      /work +gitlab +gitlab\.com +ada +ada@acme\.example +openpgp/,
    );
    await home.does("switch work");
    assert.equal(await home.must("git config gpg.format"), "openpgp\n");
    const again = await home.run("trunkline identity import ~/juggler.json");
    assert.equal(again.code, 2);
    assert.match(again.err, /these identities exist already: work.*--force/);
  });

  it("gives one shell an identity, without changing files", async () => {
    using home = new Home();
    await home.addBoth();
    const line =
      'eval "$(trunkline identity env work)" && git commit -q --allow-empty -m x && git log -1 --format=%ae';
    assert.equal(await home.must(line), "ada@acme.example\n");
    assert.equal((await home.run("git config user.email")).code, 1);
  });

  it("adds the identities to the configuration of ssh and git, and removes them without a trace", async () => {
    using home = new Home();
    await home.addBoth();
    home.write(".ssh/config", "Host x\r\n  User y");
    const plan = await home.does("sync --dry-run");
    assert.match(plan, /\+ managed block = Host gh-work/);
    assert.equal(home.read(".ssh/config"), "Host x\r\n  User y");
    await home.does("sync");
    assert.match(home.read(".ssh/config"), /Host gh-work\r\n/);
    await home.does("sync --remove");
    assert.equal(home.read(".ssh/config"), "Host x\r\n  User y");
    await home.does("undo --global");
    assert.match(home.read(".ssh/config"), /Host gh-work\r\n/);
  });

  const isThere = spawnSync("script", ["--version"]).error === undefined;
  const skip = isThere ? false : "needs `script`, of the package bsdutils or util-linux";
  it("asks for missing values if a person is there to answer", { skip }, async () => {
    using home = new Home();
    const line = "script -qec 'trunkline identity add asked' /dev/null";
    const { code, out } = await home.run(line, "gitlab\nada\nada@example.com\n\n");
    assert.equal(code, 0, out);
    assert.match(out, /Provider \(github, gitlab, bitbucket, other\): /);
    const listed = await home.does("list --json");
    const { identities } = JSON.parse(listed) as { identities: object[] };
    assert.deepEqual(identities, [
      { ...identities[0], name: "asked", provider: "gitlab", email: "ada@example.com" },
    ]);
  });
});

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { runFromShell } from "../run-from-shell.ts";
import { PROGRAM_CACHE } from "../leftovers.ts";
import { ForgeServer } from "./forge-server.ts";
import { makeKey, SshServer } from "./ssh-server.ts";

const BUILT = join(import.meta.dirname, "../../../dist/trunkline.js");
const SSH = execFileSync("sh", ["-c", "command -v ssh"]).toString().trim();

export interface Ended {
  readonly code: number | NodeJS.Signals;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
}

/** A push as the server saw it. */
export interface Push {
  readonly account: string;
  readonly repository: string;
  readonly head: string;
  readonly ref: string;
}

/**
 * A forge with two accounts, alice and bob, by ssh and by HTTPS, and a home to reach it from. Each
 * may use its own repositories and those of `team`. All of it is real but for the REST interface.
 */
export class GitRig implements AsyncDisposable {
  readonly root: string;
  readonly home: string;
  readonly ssh: SshServer;
  readonly forge: ForgeServer;
  readonly env: NodeJS.ProcessEnv;

  private constructor(root: string, ssh: SshServer, forge: ForgeServer) {
    this.root = root;
    this.home = join(root, "home");
    this.ssh = ssh;
    this.forge = forge;
    this.env = {
      PATH: `${join(root, "bin")}:${process.env.PATH ?? ""}`,
      HOME: this.home,
      TMPDIR: process.env.TMPDIR,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_TERMINAL_PROMPT: "0",
      GIT_SSL_CAINFO: forge.caFile,
      // Otherwise each call by HTTPS reads all authorities of the system, which takes 50 ms.
      GIT_SSL_CAPATH: join(root, "no-authorities"),
      NODE_EXTRA_CA_CERTS: forge.caFile,
      GNUPGHOME: join(root, "gpg"),
      TRUNKLINE_CONFIG: join(root, "config.jsonc"),
      TRUNKLINE_DATA: join(root, "data"),
      TRUNKLINE_TOKEN_STORE: "file",
      // Hooks and helpers start the program many times.
      XDG_CACHE_HOME: PROGRAM_CACHE,
    };
  }

  static async start(): Promise<GitRig> {
    const root = mkdtempSync(join(tmpdir(), "trunkline-rig-"));
    for (const name of ["bin", "home/.ssh", "repositories", "gpg", "no-authorities"]) {
      mkdirSync(join(root, name), { recursive: true, mode: 0o700 });
    }
    const forced = script(join(root, "forced"), forcedCommand(root));
    const ssh = await SshServer.start(join(root, "sshd"), forced, ["alice", "bob"]);
    const forge = await ForgeServer.start(root, join(root, "repositories"));
    const rig = new GitRig(root, ssh, forge);
    const config = join(root, "home/.ssh/config");
    // ssh finds its configuration by the account, whatever HOME is.
    script(join(root, "bin/ssh"), `exec '${SSH}' -F '${config}' "$@"`);
    script(join(root, "bin/trunkline"), `exec '${process.execPath}' '${BUILT}' "$@"`);
    // Otherwise each use of a key with a passphrase takes gpg a tenth of a second, and far more on
    // a busy machine.
    writeFileSync(join(root, "gpg/gpg-agent.conf"), "s2k-count 65536\n");
    writeFileSync(config, sshConfig(ssh), { mode: 0o600 });
    writeFileSync(join(root, "home/.gitconfig"), "[init]\n\tdefaultBranch = main\n");
    rig.configure({});
    return rig;
  }

  /** The two accounts as identities, with more to say of each. */
  identities(more: { readonly alice?: object; readonly bob?: object } = {}): object {
    const one = (account: "alice" | "bob"): object => ({
      provider: "other",
      host: "localhost",
      user: account,
      email: `${account}@rig.test`,
      sshKey: this.ssh.keyOf(account),
      ...more[account],
    });
    return { alice: one("alice"), bob: one("bob") };
  }

  configure(config: object): void {
    writeFileSync(join(this.root, "config.jsonc"), JSON.stringify(config, null, 2));
  }

  /** The address of a repository by ssh. */
  sshUrl(name: string): string {
    return `${userInfo().username}@localhost:${name}.git`;
  }

  httpsUrl(name: string): string {
    return `${this.forge.url}/${name}.git`;
  }

  /** Makes an empty repository on the server. */
  makeRepository(name: string): void {
    const path = join(this.root, "repositories", `${name}.git`);
    if (existsSync(path)) return;
    runFromShell("git", ["init", "-q", "--bare", "-b", "main", path], { env: this.env });
    runFromShell("git", ["-C", path, "config", "http.receivepack", "true"], { env: this.env });
    const log = join(this.root, "pushes");
    const line = `echo "\${RIG_ACCOUNT:-nobody} ${name} $new $ref" >> '${log}'`;
    script(join(path, "hooks/post-receive"), `while read old new ref; do ${line}; done`);
  }

  /** A work tree with one commit, whose `origin` is `url`. */
  makeClone(name: string, url: string): string {
    const path = join(this.root, "clones", name);
    runFromShell("git", ["init", "-q", path], { env: this.env });
    runFromShell("git", ["-C", path, "remote", "add", "origin", url], { env: this.env });
    return path;
  }

  /** All pushes that the server took, in their order. */
  pushes(): Push[] {
    const file = join(this.root, "pushes");
    const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    return lines.map((line) => {
      const [account = "", repository = "", head = "", ref = ""] = line.split(" ");
      return { account, repository, head, ref };
    });
  }

  /** What the ssh server was asked for: "alice git-receive-pack 'team/app.git'". */
  sshAccess(): string[] {
    const file = join(this.root, "access");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }

  /** Runs a line as it is typed into a shell. */
  async run(line: string, options: RunOptions = {}): Promise<Ended> {
    const child = spawn("bash", ["-c", line], {
      env: { ...this.env, ...options.env },
      cwd: options.cwd ?? this.home,
    });
    child.stdin.on("error", () => {});
    child.stdin.end(options.input ?? "");
    const [out, err, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>,
    ]);
    return { code: code ?? signal ?? 0, out, err };
  }

  /** Runs a line that has to succeed, and gives what it wrote. */
  async must(line: string, options: RunOptions = {}): Promise<string> {
    const { code, out, err } = await this.run(line, options);
    if (code !== 0) throw new Error(`'${line}' ended with ${code}: ${err}${out}`);
    return out.trimEnd();
  }

  /**
   * Runs commands of `trunkline` that must succeed in this process, which is far quicker, and gives
   * what they wrote. What they write into files of git starts the built program.
   */
  async inProcess(commands: readonly string[], options: RunOptions = {}): Promise<string[]> {
    const { runInProcess } = await import("../run-in-process.ts");
    const { cwd = this.home, env } = options;
    const [, entry = ""] = process.argv;
    const written: string[] = [];
    process.argv[1] = BUILT;
    try {
      for (const command of commands) {
        const here = { env: { ...this.env, ...env }, cwd };
        const { code, out, err } = await runInProcess(command.split(" "), here);
        if (code !== 0) throw new Error(`'${command}' ended with ${code}: ${err}${out}`);
        written.push(out.trimEnd());
      }
      return written;
    } finally {
      process.argv[1] = entry;
    }
  }

  /** A secret key of gpg's for an address; its fingerprint. */
  async makeGpgKey(name: string, passphrase = ""): Promise<string> {
    const user = `${name} <${name}@rig.test>`;
    const batch = "gpg --batch --pinentry-mode loopback";
    await this.must(
      `${batch} --passphrase '${passphrase}' --quick-generate-key '${user}' ed25519 sign 1y`,
    );
    const list = await this.must(
      `gpg --batch --with-colons --list-secret-keys '<${name}@rig.test>'`,
    );
    return /^fpr:{9}([0-9A-F]+):/m.exec(list)?.[1] ?? "";
  }

  makeSshKey(name: string, passphrase = ""): string {
    return makeKey(join(this.root, name), passphrase);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run("gpgconf --kill all");
    await Promise.all([this.ssh[Symbol.asyncDispose](), this.forge[Symbol.asyncDispose]()]);
    rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
  }
}

function script(path: string, body: string): string {
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** What a forge does for whoever has logged in: greet, or serve a repository that they may use. */
function forcedCommand(root: string): string {
  return `
account=$1
echo "$account \${SSH_ORIGINAL_COMMAND:-greeting}" >> '${root}/access'
case "$SSH_ORIGINAL_COMMAND" in
  '') echo "Hi $account! You've successfully authenticated, but there is no shell here." >&2; exit 1 ;;
  git-upload-pack*|git-receive-pack*) ;;
  *) echo "Unknown command" >&2; exit 128 ;;
esac
verb=\${SSH_ORIGINAL_COMMAND%% *}
path=\${SSH_ORIGINAL_COMMAND#* }
path=$(echo "$path" | tr -d "'" | sed 's,^/,,')
case "$path" in
  "$account"/*|team/*) ;;
  *) echo "ERROR: Repository not found." >&2; exit 128 ;;
esac
export RIG_ACCOUNT=$account HOME='${root}/repositories'
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
exec git "\${verb#git-}" '${root}/repositories/'"$path"`;
}

function sshConfig({ port, knownHosts }: SshServer): string {
  return [
    "Host *",
    `    UserKnownHostsFile ${knownHosts}`,
    "    GlobalKnownHostsFile none",
    "    StrictHostKeyChecking yes",
    "    IdentityAgent none",
    "Host rig-alice rig-bob",
    "    HostName localhost",
    `    User ${userInfo().username}`,
    `    Port ${port}`,
    "Host localhost 127.0.0.1",
    `    Port ${port}`,
    "",
  ].join("\n");
}

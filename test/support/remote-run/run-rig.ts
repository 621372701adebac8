import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { runFromShell } from "../run-from-shell.ts";
import { AcpSocket } from "../acp-socket.ts";
import { GitRig } from "../git-rig/git-rig.ts";
import { readyOf } from "../owner-access.ts";
import { Program } from "../program.ts";
import { TestCa } from "../quic-certificates.ts";
import { mountsBelow } from "./run-leftovers.ts";

const AGENT = join(import.meta.dirname, "../acp-agent.mjs");
const TOKEN = "token-of-alice-0123456789abcdef";

/** A repository on the server, and the clone of it that an IDE has open. */
export interface Project {
  readonly name: string;
  readonly url: string;
  readonly clone: string;
  /** The folder of the repository on the server. */
  readonly bare: string;
  readonly revision: string;
  git(...args: string[]): string;
}

export interface RunRigOptions {
  /** Settings in addition to those that runs need here. */
  readonly config?: Readonly<Record<string, object | string>>;
  /** Whether the server has a certificate, which `server-ca.pem` has signed. */
  readonly tls?: boolean;
  /** Environment variables of the server. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A forge whose repositories `trunkline serve` may work on, and that server, which can be killed. */
export class RunRig implements AsyncDisposable {
  readonly rig: GitRig;
  #server: Program | undefined;
  /** The address of the server; a promise while it is being started. */
  #address: Promise<{ readonly acp: string; readonly authorization: string }>;

  private constructor(rig: GitRig) {
    this.rig = rig;
    this.#address = this.#start();
  }

  static async start({ config = {}, tls = false, env = {} }: RunRigOptions = {}): Promise<RunRig> {
    const rig = await GitRig.start();
    Object.assign(rig.env, env);
    if (tls) await certify(rig.root);
    rig.forge.tokens.set(TOKEN, { account: "alice" });
    const identities = rig.identities({
      alice: {
        host: rig.forge.host,
        match: [{ remote: `https://${rig.forge.host}/*` }, { host: "localhost" }],
      },
    });
    const { remote, ...rest } = config;
    rig.configure({
      agent: "scripted",
      agents: { scripted: { command: process.execPath, args: [AGENT] } },
      remote: { allowPrivate: true, ...(remote as object) },
      identities,
      ...(tls ? { serve: { tls: { certFile: "cert.pem", keyFile: "key.pem" } } } : {}),
      ...rest,
    });
    await rig.must("trunkline identity token set alice", { input: `${TOKEN}\n` });
    const run = new RunRig(rig);
    await run.#address;
    return run;
  }

  /** The server's folder for runs. */
  get folder(): string {
    return join(this.rig.root, "data/run");
  }

  get pid(): number {
    return this.#server?.child.pid ?? NaN;
  }

  get log(): string {
    return this.#server?.stderr ?? "";
  }

  /** Connects as the guide's IDE does: with the raw token. Waits while the server is starting. */
  async connect(query = ""): Promise<AcpSocket> {
    const { acp, authorization } = await this.#address;
    return await AcpSocket.connect(`${acp}${query}`, { authorization });
  }

  address(): Promise<{ readonly acp: string; readonly authorization: string }> {
    return this.#address;
  }

  /** Kills the server and starts another on the same data. */
  async killAndRestart(): Promise<void> {
    await this.#end("SIGKILL");
    this.#address = this.#start();
    await this.#address;
  }

  /** A repository with some files and two commits. */
  project(name: string, way: "https" | "ssh" = "https"): Project {
    const { rig } = this;
    rig.makeRepository(`team/${name}`);
    const url = way === "https" ? rig.httpsUrl(`team/${name}`) : rig.sshUrl(`team/${name}`);
    const clone = rig.makeClone(name, url);
    const git = (...args: string[]): string =>
      runFromShell("git", ["-C", clone, ...args], { env: rig.env }).trim();
    const bare = join(rig.root, "repositories/team", `${name}.git`);
    for (const text of ["hello", "hello again"]) {
      writeFileSync(join(clone, "README.md"), `${text} from ${name}\n`);
      git("add", ".");
      git("-c", "user.name=Ida", "-c", "user.email=ida@example.com", "commit", "-qm", text);
    }
    git("push", "--quiet", bare, "HEAD:main");
    return { name, url, clone, bare, git, revision: git("rev-parse", "HEAD") };
  }

  /** Fetches a branch into the IDE's clone as the IDE does: from `origin`, as alice. */
  async fetch({ clone }: Project, branch: string): Promise<void> {
    const { rig } = this;
    const helper = `!f() { echo username=alice; echo password=${TOKEN}; }; f`;
    await rig.must(`git -c credential.helper='${helper}' fetch --quiet origin '${branch}'`, {
      cwd: clone,
      env: { GIT_SSH_COMMAND: `ssh -i ${rig.ssh.keyOf("alice")} -o IdentitiesOnly=yes` },
    });
  }

  /** Stops the server as an operator would. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server !== undefined) await this.stop();
    // A failed test reports its own error; a leftover mount must not hide it.
    for (const at of mountsBelow(this.rig.root)) execFileSync("umount", ["--lazy", at]);
    await this.rig[Symbol.asyncDispose]();
  }

  async #start(): Promise<{ acp: string; authorization: string }> {
    const program = new Program(["serve", "--port", "0", "--json"], {
      env: this.rig.env as Record<string, string>,
    });
    this.#server = program;
    await program.until(({ lines }) => lines.length > 0);
    const { acp, tokenFile } = readyOf(JSON.parse(program.lines[0] ?? ""));
    return { acp, authorization: readFileSync(tokenFile, "utf8") };
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.child.kill(signal);
    await server?.exit;
    await server?.[Symbol.asyncDispose]();
  }
}

/** Creates a certificate for this machine, and `server-ca.pem`, which has signed it. */
async function certify(folder: string): Promise<void> {
  const ca = await TestCa.make("P-256");
  const { cert, key } = await ca.issue("127.0.0.1");
  writeFileSync(join(folder, "server-ca.pem"), ca.pem);
  writeFileSync(join(folder, "cert.pem"), String(cert));
  writeFileSync(join(folder, "key.pem"), String(key));
}

/** The `_meta` with which an IDE begins a run on its checked-out commit. */
export function openingOf({ url, revision }: Project): object {
  return { cwd: "", mcpServers: [], _meta: { remote: { url, branch: "main", revision } } };
}

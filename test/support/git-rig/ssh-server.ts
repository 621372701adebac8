import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";

const SSHD = ["/usr/sbin/sshd", "/sbin/sshd", "/usr/local/sbin/sshd"].find(existsSync);

/** Why there can be no ssh server, or false. */
export const WITHOUT_SSHD =
  SSHD === undefined && "sshd is missing: apt-get install openssh-server, or run as root";

/**
 * A real sshd on loopback. All accounts are one account of the system: which of them somebody is
 * goes by the key, as at a forge, and a forced command does what the forge would.
 */
export class SshServer implements AsyncDisposable {
  readonly port: number;
  readonly knownHosts: string;
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;

  private constructor(folder: string, port: number, child: ChildProcess) {
    this.#folder = folder;
    this.port = port;
    this.#child = child;
    this.#exit = once(child, "exit");
    this.knownHosts = join(folder, "known_hosts");
  }

  /** `forced` is run with an account's name by whoever has that account's key, who `may` what it says. */
  static async start(
    folder: string,
    forced: string,
    accounts: readonly string[],
    may: "restrict" | "restrict,pty" = "restrict",
  ): Promise<SshServer> {
    if (SSHD === undefined) throw new Error(String(WITHOUT_SSHD));
    mkdirSync(folder, { recursive: true });
    makeKey(join(folder, "host"));
    const lines = accounts.map((account) => {
      makeKey(join(folder, `id_${account}`));
      const key = readFileSync(join(folder, `id_${account}.pub`), "utf8").trim();
      return `${may},command="${forced} ${account}" ${key}\n`;
    });
    writeFileSync(join(folder, "authorized_keys"), lines.join(""), { mode: 0o600 });
    const port = await freePort();
    const host = readFileSync(join(folder, "host.pub"), "utf8").trim();
    const names = ["localhost", "127.0.0.1"].map((name) => `[${name}]:${port}`).join(",");
    writeFileSync(join(folder, "known_hosts"), `${names} ${host}\n`);
    writeFileSync(
      join(folder, "sshd_config"),
      [
        `Port ${port}`,
        "ListenAddress 127.0.0.1",
        `HostKey ${join(folder, "host")}`,
        "PidFile none",
        `AuthorizedKeysFile ${join(folder, "authorized_keys")}`,
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        // The usual one takes both sides a fifth of a second on a busy machine.
        "KexAlgorithms curve25519-sha256",
        // Or bash reads the account's own ~/.bashrc, whatever that does, before the forced command.
        "SetEnv SHLVL=2",
        "StrictModes no",
        "MaxStartups 100:30:200",
        "LogLevel VERBOSE",
        "",
      ].join("\n"),
    );
    // Only as root does it want this folder, and only there can it be made.
    if (userInfo().uid === 0) mkdirSync("/run/sshd", { recursive: true });
    const child = spawn(SSHD, ["-D", "-e", "-f", join(folder, "sshd_config")], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (/Server listening/.test(said)) resolve();
      });
      child.on("exit", () => reject(new Error(`sshd did not start: ${said}`)));
    });
    return new SshServer(folder, port, child);
  }

  keyOf(account: string): string {
    return join(this.#folder, `id_${account}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.#exit;
  }
}

/** Makes a key without a passphrase, or with one. */
export function makeKey(file: string, passphrase = ""): string {
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", passphrase, "-C", "rig", "-f", file]);
  return file;
}

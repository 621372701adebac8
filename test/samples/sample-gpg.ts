import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Identity, resolveIdentity, type Signing } from "../../src/identity/identity.ts";

export const GPG_IS_MISSING = (() => {
  try {
    execFileSync("gpg", ["--version"]);
    return false;
  } catch {
    return "gpg is missing: apt-get install gnupg";
  }
})();

/** An identity that signs, or does not. */
export function signer(signing: Signing | undefined): Identity {
  const base = { provider: "github", user: "ada", email: "ada@rig.test" } as const;
  return resolveIdentity("work", { ...base, ...(signing && { signing }) });
}

/** A home for gpg and ssh keys of its own, for tests. */
export class SampleGpg implements Disposable {
  // The socket of gpg-agent has to fit into about a hundred characters.
  readonly path = mkdtempSync(join(tmpdir(), "tl-gpg-"));
  readonly env: NodeJS.ProcessEnv;

  constructor() {
    mkdirSync(join(this.path, "bin"));
    mkdirSync(join(this.path, "g"), { mode: 0o700 });
    // Otherwise gpg takes a tenth of a second for each use of a passphrase, and more when busy.
    writeFileSync(join(this.path, "g/gpg-agent.conf"), "s2k-count 65536\n");
    this.env = {
      PATH: `${join(this.path, "bin")}:${process.env.PATH ?? ""}`,
      HOME: this.path,
      GNUPGHOME: join(this.path, "g"),
      GIT_CONFIG_NOSYSTEM: "1",
    };
  }

  run(command: string, ...args: string[]): string {
    return execFileSync(command, args, {
      env: this.env,
      cwd: this.path,
      stdio: ["ignore", "pipe", "ignore"],
    }).toString();
  }

  makeKey(email: string, passphrase = "", expires = "1y"): void {
    const secret = ["--pinentry-mode", "loopback", "--passphrase", passphrase];
    this.run(
      "gpg",
      "--batch",
      ...secret,
      "--quick-generate-key",
      email,
      "ed25519",
      "sign",
      expires,
    );
  }

  makeSshKey(name: string, passphrase = ""): string {
    const file = join(this.path, name);
    this.run("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "a key", "-f", file);
    return file;
  }

  /** Puts a program before the real one. */
  standIn(name: string, script: string): void {
    writeFileSync(join(this.path, "bin", name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(this.path, "bin", name), 0o755);
  }

  /** An agent that is told to end still writes to its folder for a moment, more so under load. */
  [Symbol.dispose](): void {
    const giveUpAt = Date.now() + LONGEST_END;
    do {
      // The real one, whatever stands in for it.
      execFileSync("gpgconf", ["--kill", "all"], { env: { ...this.env, PATH: process.env.PATH } });
      sleep(10);
    } while (this.#isInUse() && Date.now() < giveUpAt);
    rmSync(this.path, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Whether a process was started with this home: gpg names it on the agent's command line. */
  #isInUse(): boolean {
    if (process.platform !== "linux") return false;
    return readdirSync("/proc").some((entry) => {
      if (!/^\d+$/.test(entry) || entry === String(process.pid)) return false;
      try {
        return readFileSync(`/proc/${entry}/cmdline`, "latin1").includes(this.path);
      } catch {
        return false;
      }
    });
  }
}

/** Milliseconds; it takes ten, and a hundred under load. */
const LONGEST_END = 60_000;

function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

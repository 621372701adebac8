import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MOUNT = 'mount -t tmpfs -o "size=$1" none "$2" && shift 2 && exec "$@"';

/**
 * A disk of a few megabytes that is really full when it is: a tmpfs that one program has for itself,
 * in namespaces of its own, which need no privileges.
 */
export class SmallDisk implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-disk-"));
  readonly #size: string;

  constructor(size = "4m") {
    this.#size = size;
  }

  /** Why there can be none here; undefined where there can. */
  static get missing(): string | undefined {
    if (process.platform !== "linux") return "it takes Linux's namespaces";
    using disk = new SmallDisk();
    const { status } = spawnSync("env", [...disk.within, "true"]);
    return status === 0 ? undefined : "unshare(1) of util-linux may not make user namespaces here";
  }

  /** What a program is run within to have it. */
  get within(): readonly string[] {
    return [
      ...["unshare", "--user", "--map-root-user", "--mount"],
      ...["sh", "-c", MOUNT, "sh", this.#size, this.path],
    ];
  }

  /** Takes all the room there is, in the disk of a process. */
  fill(pid: number | undefined): void {
    const file = openSync(this.#ballast(pid), "w");
    try {
      for (let size = 1 << 20; size >= 1; size >>= 1) this.#writeAll(file, Buffer.alloc(size));
    } finally {
      closeSync(file);
    }
  }

  /** Gives it back. */
  free(pid: number | undefined): void {
    rmSync(this.#ballast(pid));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }

  #ballast(pid: number | undefined): string {
    return join(`/proc/${pid}/root`, this.path, "ballast");
  }

  #writeAll(file: number, bytes: Buffer): void {
    try {
      while (writeSync(file, bytes) > 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  }
}

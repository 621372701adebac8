import { mkdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";

import type { TreeRequest, WorkspaceDriver } from "./driver.ts";
import { Mounts } from "./mounts.ts";

/** Changes go into a layer above the base, so a workspace takes only the space of its changes. */
export class OverlayDriver implements WorkspaceDriver, AsyncDisposable {
  readonly name = "overlay";
  readonly #mounts = new Mounts();

  async open({ layers, folder, owner }: TreeRequest): Promise<string> {
    const tree = join(folder, "tree");
    const changes = join(folder, "changes");
    // Mounts of a killed process.
    await this.close(folder);
    for (const name of ["layer/upper", "layer/work"]) {
      await mkdir(join(changes, name), { recursive: true, mode: 0o755 });
    }
    await mkdir(tree, { recursive: true });
    await this.#mounts.mount({ lowers: layers, changes, tree, user: owner });
    return tree;
  }

  async changesOf(folder: string): Promise<string> {
    return join(folder, "changes/layer/upper");
  }

  async close(folder: string): Promise<void> {
    for (const at of await mountsIn(folder)) await this.#mounts.unmount(at);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mounts[Symbol.asyncDispose]();
  }
}

/** Mount options are separated by commas, and folders in them by colons. */
export function canOverlay(data: string): boolean {
  return process.platform === "linux" && process.getuid?.() === 0 && !/[,:\\]/.test(data);
}

/** The mounts in a folder: its tree, and intermediate mounts if mounting was interrupted. */
async function mountsIn(folder: string): Promise<string[]> {
  const mounts = await readFile("/proc/self/mounts", "utf8");
  const real = await realpath(folder).catch(() => folder);
  const places = mounts
    .split("\n")
    .map((line) => line.split(" ")[1]?.replaceAll(OCTAL, plain) ?? "");
  return places.filter((at) => at.startsWith(`${real}/`)).toReversed();
}

/** How proc(5) escapes spaces and similar characters. */
const OCTAL = /\\([0-7]{3})/g;

function plain(_: string, digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 8));
}

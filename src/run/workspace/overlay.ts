import { mkdir, readFile } from "node:fs/promises";
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
    // One that a process left behind which was killed.
    if (await isMounted(tree)) await this.#mounts.unmount(tree);
    for (const name of ["layer/upper", "layer/work"]) {
      await mkdir(join(changes, name), { recursive: true, mode: 0o755 });
    }
    await mkdir(tree, { recursive: true });
    await this.#mounts.mount({ lowers: layers, changes, tree, user: owner });
    return tree;
  }

  async close(folder: string): Promise<void> {
    const tree = join(folder, "tree");
    if (await isMounted(tree)) await this.#mounts.unmount(tree);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mounts[Symbol.asyncDispose]();
  }
}

/** Mount options are separated by commas, and folders in them by colons. */
export function canOverlay(data: string): boolean {
  return process.platform === "linux" && process.getuid?.() === 0 && !/[,:\\]/.test(data);
}

async function isMounted(tree: string): Promise<boolean> {
  const mounts = await readFile("/proc/self/mounts", "utf8");
  const escaped = tree.replaceAll(/[ \t\n\\]/g, (it) => `\\${octal(it)}`);
  return mounts.split("\n").some((line) => line.split(" ")[1] === escaped);
}

function octal(character: string): string {
  return character.charCodeAt(0).toString(8).padStart(3, "0");
}

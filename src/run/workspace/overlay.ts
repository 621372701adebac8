import { mkdir, mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";

import type { FileOwner, TreeRequest, WorkspaceDriver } from "./driver.ts";
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

/**
 * Overlay mounts in a folder, for files of such an owner; undefined where they cannot be had. That depends on
 * capabilities, user namespaces and the file system, so it is tried.
 */
export async function openOverlay(
  folder: string,
  owner: FileOwner | undefined,
): Promise<OverlayDriver | undefined> {
  // Mount options are separated by commas, and folders in them by colons.
  if (process.platform !== "linux" || process.getuid?.() !== 0 || /[,:\\]/.test(folder)) {
    return undefined;
  }
  const driver = new OverlayDriver();
  const tried = await mkdtemp(join(folder, "mount-"));
  try {
    const base = join(tried, "base");
    await mkdir(join(base, "sub/below"), { recursive: true });
    const tree = await driver.open({ layers: [base], folder: tried, owner });
    // A mount may succeed on a file system that cannot store in a layer that a folder was replaced.
    await rm(join(tree, "sub"), { recursive: true });
    await mkdir(join(tree, "sub"));
    if ((await readdir(join(tree, "sub"))).length === 0) return driver;
  } catch {
    // Files are copied instead.
  } finally {
    await driver.close(tried);
    await rm(tried, { recursive: true, force: true });
  }
  await driver[Symbol.asyncDispose]();
  return undefined;
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

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** What can become of an installed package while a program of it runs. */
export const FATES = ["removed", "replaced by garbage", "replaced by another build"] as const;

/** The built package as npm installs it, in a folder of its own and without what it depends on. */
export class PackageCopy implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "trunkline-package-"));
  readonly #package = join(this.#folder, "trunkline");
  readonly program = join(this.#package, "dist/trunkline.js");

  constructor() {
    mkdirSync(this.#package);
    cpSync(join(ROOT, "package.json"), join(this.#package, "package.json"));
    cpSync(join(ROOT, "dist"), join(this.#package, "dist"), { recursive: true });
  }

  /** Does to the package what npm or a build would do, or worse. */
  befall(fate: (typeof FATES)[number]): void {
    // As npm does: the old folder is moved aside and then removed.
    renameSync(this.#package, `${this.#package}-old`);
    rmSync(`${this.#package}-old`, { recursive: true });
    if (fate === "removed") return;
    const text =
      fate === "replaced by garbage" ? "garbage \0" : "throw new Error('another build');";
    cpSync(join(ROOT, "dist"), join(this.#package, "dist"), { recursive: true });
    writeFileSync(join(this.#package, "package.json"), text);
    const dist = join(this.#package, "dist");
    for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) writeFileSync(join(entry.parentPath, entry.name), text);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

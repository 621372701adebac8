import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

import { sharedFolder } from "./other-user.ts";

const ROOT = join(import.meta.dirname, "../..");
const NODE = "node_modules/.bin/node";
const BUILT = "dist/trunkline.js";

/** The built program with its Node, where another user can run it: this checkout may be private. */
export class SharedProgram implements Disposable {
  readonly #folder = sharedFolder();
  /** As a checkout that is built, without the sources. */
  readonly root = join(this.#folder.path, "trunkline");
  readonly node = join(this.root, NODE);
  readonly built = join(this.root, BUILT);

  constructor() {
    for (const path of ["package.json", "scripts/trunkline", "dist"]) this.#copy(path);
    mkdirSync(dirname(this.node), { recursive: true });
    cpSync(process.execPath, this.node);
    execFileSync("chmod", ["-R", "a+rX", this.root]);
  }

  #copy(path: string): void {
    cpSync(join(ROOT, path), join(this.root, path), { recursive: true });
  }

  /** A folder beside it. */
  at(name: string): string {
    return join(this.#folder.path, name);
  }

  [Symbol.dispose](): void {
    this.#folder.remove();
  }
}

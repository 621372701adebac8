import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "../..");

interface Lock {
  readonly packages: Readonly<Record<string, { version?: string; optional?: boolean }>>;
}

/**
 * Other people's packages that only some tests need: a folder with a package.json and a lockfile of
 * its own. The first test that comes installs them.
 */
export class Packages {
  readonly #folder: string;

  /** `folder` is relative to the project's root. */
  constructor(folder: string) {
    this.#folder = join(ROOT, folder);
  }

  async install(): Promise<void> {
    if (this.#isInstalled()) return;
    const lock = pathToFileURL(join(ROOT, "scripts/lock.mjs")).href;
    const { withLock } = (await import(lock)) as {
      withLock: (folder: string, work: () => Promise<void>) => Promise<void>;
    };
    await withLock(join(ROOT, ".cache/test-packages.lock"), async () => {
      if (!this.#isInstalled()) await this.#npmCi();
    });
  }

  /** The path of a file of an installed package. */
  path(...parts: string[]): string {
    return join(this.#folder, "node_modules", ...parts);
  }

  /** Imports a module of an installed package, as `T`. */
  async import<T>(...parts: string[]): Promise<T> {
    return (await import(pathToFileURL(this.path(...parts)).href)) as T;
  }

  /** npm writes down last what it has installed. */
  #isInstalled(): boolean {
    const record = join(this.#folder, "node_modules/.package-lock.json");
    if (!existsSync(record)) return false;
    const { packages: installed } = read(record);
    const { "": _, ...wanted } = read(join(this.#folder, "package-lock.json")).packages;
    return Object.entries(wanted).every(
      ([path, { version, optional }]) =>
        installed[path]?.version === version || (optional === true && !(path in installed)),
    );
  }

  async #npmCi(): Promise<void> {
    const { npm_execpath: script, npm_node_execpath: node } = process.env;
    const isNpm = script?.endsWith("npm-cli.js") === true && node !== undefined;
    const [command, ...args] = isNpm ? [node, script, "ci"] : ["npm", "ci"];
    const child = spawn(command, args, {
      cwd: this.#folder,
      stdio: ["ignore", "pipe", "pipe"],
      // The folder's own settings are in force, not those that `npm test` was started with.
      env: Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^npm_/i.test(key))),
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    }
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) throw new Error(`Cannot install ${this.#folder}: npm ci failed.\n${output}`);
  }
}

function read(file: string): Lock {
  return JSON.parse(readFileSync(file, "utf8")) as Lock;
}

import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "../..");
const INSTALLING = pathToFileURL(join(ROOT, "scripts/test-packages.mjs")).href;

/**
 * Other people's packages that only some tests need: a folder with a package.json and a lockfile of
 * its own. `npm test` has installed those that it needs before its tests; of others, the first test that
 * comes installs them.
 */
export class Packages {
  readonly #folder: string;
  #installed: Promise<void> | undefined;

  /** `folder` is relative to the project's root. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  install(): Promise<void> {
    this.#installed ??= this.#install();
    return this.#installed;
  }

  async #install(): Promise<void> {
    const { installTestPackages } = (await import(INSTALLING)) as {
      installTestPackages: (folder: string) => Promise<void>;
    };
    await installTestPackages(this.#folder);
  }

  /** The path of a file of an installed package. */
  path(...parts: string[]): string {
    return join(ROOT, this.#folder, "node_modules", ...parts);
  }

  /** Imports a module of an installed package, as `T`. */
  async import<T>(...parts: string[]): Promise<T> {
    return (await import(pathToFileURL(this.path(...parts)).href)) as T;
  }
}

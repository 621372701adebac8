import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { isInside, realPath } from "../../base/file/path.ts";

/** The name of the file that says which folder a home belongs to. */
const PROJECT = "project";

/** Steps of a path, those of its links included. */
const MOST_STEPS = 1_000;

/**
 * The home folders that commands in the sandbox have, one for each project, with the caches of its tools.
 * They are kept between sessions, and can be removed at any time.
 */
export class ProjectHomes {
  readonly #folder: string;

  constructor(data: string) {
    this.#folder = join(data, "sandbox", "homes");
  }

  /** The home of a project, which is made if it is missing. */
  of(project: string): string {
    const folder = join(this.#folder, this.#noted(project));
    const home = join(folder, "home");
    mkdirSync(home, { recursive: true, mode: 0o700 });
    return realpathSync.native(home);
  }

  /** Notes folders that commands are about to write to. */
  note(folders: readonly string[]): void {
    for (const folder of folders) this.#noted(folder);
  }

  /**
   * The path without links. Throws if one of the links is in a folder that commands have written to: they
   * may have made it, and it may lead to anything.
   */
  real(path: string): string {
    const written = this.#written();
    const steps = stepsOf(path);
    let real = "/";
    for (let count = 0; steps.length > 0; count++) {
      const next = join(real, steps.shift() ?? "");
      const isLink = lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() === true;
      if (!isLink) {
        real = next;
        continue;
      }
      if (count > MOST_STEPS || written.some((folder) => isInside(real, folder))) {
        const why = `'${next}' is a link that a command may have made`;
        throw new TrunklineError("unavailable", `'${path}' is not used: ${why}. Name its target`);
      }
      const target = readlinkSync(next);
      steps.unshift(...stepsOf(target));
      if (target.startsWith("/")) real = "/";
    }
    return real;
  }

  /** The path without links; undefined if it does not exist, or must not be followed. */
  follow(path: string): string | undefined {
    try {
      const real = this.real(path);
      return existsSync(real) ? real : undefined;
    } catch {
      return undefined;
    }
  }

  /** The path without a link in the root, which sandboxes have, too. */
  inRoot(path: string): string {
    const [, first = "", ...rest] = path.split("/");
    return join(realPath(`/${first}`), ...rest);
  }

  #noted(folder: string): string {
    const name = createHash("sha256").update(folder).digest("hex").slice(0, 32);
    const file = join(this.#folder, name, PROJECT);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, folder, { mode: 0o600 });
    return name;
  }

  #written(): string[] {
    try {
      return readdirSync(this.#folder).map((name) =>
        readFileSync(join(this.#folder, name, PROJECT), "utf8"),
      );
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }
}

function stepsOf(path: string): string[] {
  return path.split("/").filter((step) => step !== "" && step !== ".");
}

import { readdirSync, rmSync, statSync } from "node:fs";
import { rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { attempt } from "../../base/attempt.ts";
import { TrunklineError, diskWords, fileWords } from "../../base/errors.ts";
import { makeFolder } from "../../base/file/path.ts";
import { Lazy } from "../../base/lazy.ts";
import { PLUGIN_UNIT } from "../../protocol/bus/certificates/certificates.ts";
import { newKey } from "../../protocol/bus/certificates/issue.ts";
import { FileLock } from "../../store/file-lock.ts";
import type { Credentials } from "../../wire/quic/connection.ts";
import type { BusCertificates } from "../bus-certificates.ts";
import { noteBus, type RunningBus } from "../running-buses.ts";

const AUTHORITY_KEY = "ca.key";
/** Milliseconds: readers take a file that is younger than two seconds for half written. */
const SETTLED = 60_000;

/**
 * The folder with the certificates of one plugin: its own, and that of the authority without its key, so
 * that the plugin cannot issue certificates for other names.
 */
export class PluginFolder implements AsyncDisposable {
  readonly path: string;
  readonly #certificates: BusCertificates;
  readonly #stops: (() => void)[] = [];
  readonly #written = new Map<string, Credentials>();

  private constructor(path: string, certificates: BusCertificates) {
    this.path = path;
    this.#certificates = certificates;
  }

  static async make(
    path: string,
    id: string,
    certificates: BusCertificates,
  ): Promise<PluginFolder> {
    await using opening = new AsyncDisposableStack();
    const folder = opening.use(new PluginFolder(path, certificates));
    makeFolder(path, 0o700);
    // It serves with one, and dials us with the other.
    for (const name of [id, `${id}-client`]) await folder.#follow(name);
    opening.move();
    return folder;
  }

  /**
   * Whether the plugin has made an authority of its own. Orchestra's SDK does, in a folder without
   * the key of one, and then trusts nobody else.
   */
  get hasOwnAuthority(): boolean {
    return statSync(join(this.path, AUTHORITY_KEY), { throwIfNoEntry: false }) !== undefined;
  }

  /**
   * Puts back the certificates that the plugin has replaced, and beside them a key that fits no
   * authority: then Orchestra's SDK does not make an authority again.
   */
  async restore(): Promise<void> {
    for (const [name, credentials] of this.#written) await this.#write(name, credentials);
    await this.#put(AUTHORITY_KEY, newKey());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
    removeFolder(this.path);
  }

  async #follow(name: string): Promise<void> {
    const { credentials, stop } = await this.#certificates.follow(
      name,
      { unit: PLUGIN_UNIT },
      (renewed) => this.#write(name, renewed),
      // The bus's own certificate fails to be renewed for the same reason, and says so.
      () => {},
    );
    this.#stops.push(stop);
    await this.#write(name, credentials);
  }

  async #write(name: string, credentials: Credentials): Promise<void> {
    this.#written.set(name, credentials);
    await this.#put(`${name}.key`, credentials.key ?? "");
    await this.#put(`${name}.crt`, credentials.cert ?? "");
    await this.#put("ca.crt", credentials.ca);
  }

  async #put(name: string, text: string): Promise<void> {
    const path = join(this.path, name);
    const temporary = `${path}.new`;
    try {
      await writeFile(temporary, text, { mode: 0o600 });
      const then = new Date(Date.now() - SETTLED);
      await utimes(temporary, then, then);
      await rename(temporary, path);
    } catch (error) {
      if (diskWords(error) === undefined) throw error;
      const says = `Cannot write '${path}': ${fileWords(error, path)}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
  }
}

/** Removes the folder of a plugin, whatever is in it. What cannot be removed is left to a later bus. */
export function removeFolder(path: string): void {
  // It is not worth failing for.
  attempt(() => rmSync(path, { recursive: true, force: true }));
}

/** The lock file of a run: its folders are in use while it is locked. */
export const LOCK = "lock";
/** The plugins' folders are in this one: an id may be the name of a file that the bus keeps. */
const PLUGINS = "plugins";

/**
 * The folders in which plugins find their certificates. Each run of a bus has its own, which are gone
 * with it; those of a run that was killed go with the next one.
 */
export class PluginFolders implements AsyncDisposable {
  readonly #certificates: BusCertificates;
  readonly #run: Lazy<RunFolder>;

  constructor(parent: string, certificates: BusCertificates) {
    this.#run = new Lazy(() => openRunFolder(parent));
    this.#certificates = certificates;
  }

  async make(id: string): Promise<PluginFolder> {
    const { path } = await this.#run.get();
    return PluginFolder.make(join(path, PLUGINS, id), id, this.#certificates);
  }

  /** Tells other processes where the bus listens, for as long as it runs. */
  async note(bus: RunningBus): Promise<void> {
    await noteBus((await this.#run.get()).path, bus);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    (await this.#run.opened())?.[Symbol.dispose]();
  }
}

/** A folder for as long as this process needs it. */
export interface RunFolder extends Disposable {
  readonly path: string;
}

/** Makes a folder in another one, in which it removes those of processes that were killed. */
export async function openRunFolder(parent: string): Promise<RunFolder> {
  makeFolder(parent, 0o700);
  // One at a time: a folder that is being made looks like one whose owner is gone.
  using _ = await FileLock.take(join(parent, LOCK));
  for (const name of readdirSync(parent)) {
    if (name !== LOCK) await removeAbandoned(join(parent, name));
  }
  const path = join(parent, crypto.randomUUID());
  makeFolder(path, 0o700);
  const lock = await FileLock.take(join(path, LOCK));
  return {
    path,
    [Symbol.dispose]: () => {
      removeFolder(path);
      lock[Symbol.dispose]();
    },
  };
}

async function removeAbandoned(path: string): Promise<void> {
  try {
    using _ = await FileLock.take(join(path, LOCK), 0);
    removeFolder(path);
  } catch {
    // It is in use, or somebody else's.
  }
}

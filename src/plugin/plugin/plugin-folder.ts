import { rmSync, statSync } from "node:fs";
import { rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { diskWords, fileWords, TrunklineError } from "../../base/errors.ts";
import { makeFolder } from "../../base/file/path.ts";
import { PLUGIN_UNIT } from "../../protocol/bus/certificates/certificates.ts";
import type { Credentials } from "../../wire/quic/connection.ts";
import type { BusCertificates } from "../bus-certificates.ts";

const AUTHORITY_KEY = "ca.key";
/** What is older than this is not taken for half written by whoever reads it. */
const SETTLED = 60_000;

/**
 * The folder that one plugin finds its certificates in: its own, and the authority's without its key,
 * so that it can show nobody's name but its own.
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
    const folder = new PluginFolder(path, certificates);
    makeFolder(path, 0o700);
    try {
      // It serves with one, and dials us with the other.
      for (const name of [id, `${id}-client`]) await folder.#follow(name);
      return folder;
    } catch (error) {
      await folder[Symbol.asyncDispose]();
      throw error;
    }
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
    const { newKey } = await import("../../protocol/bus/certificates/issue.ts");
    for (const [name, credentials] of this.#written) await this.#write(name, credentials);
    await this.#put(AUTHORITY_KEY, newKey("ed25519"));
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

/** Removes what a plugin was given, whatever it has made of it. What stays goes with a later bus. */
export function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It is not worth failing for.
  }
}

import type { PluginManifest } from "../protocol/bus/plugin.gen.ts";
import type { Connection } from "../wire/quic/connection.ts";

/** Certificates that plugins dial us with are named so. */
const CLIENT = /-client$/;

/** Who is behind a connection. */
export interface Guest {
  /** By its certificate; it cannot be made up. */
  readonly name: string;
  /** The tools of the house that it may call: those that it said it needs; all, of no plugin. */
  readonly mayCall: (tool: string) => boolean;
  readonly isPlugin: boolean;
}

/** Those who have dialled us. A plugin says that it is one when it registers. */
export class Guests {
  readonly #manifests = new WeakMap<Connection, PluginManifest>();
  /** Plugins redial: what they said counts for each of their connections. */
  readonly #byId = new Map<string, PluginManifest>();

  /** Why the plugin may not register, if it may not. */
  register(connection: Connection, manifest: PluginManifest): string | undefined {
    const name = nameOf(connection);
    if (connection.peer === undefined) return "a plugin must show a certificate";
    if (name !== manifest.id) return `the certificate is that of '${name}'`;
    this.#manifests.set(connection, manifest);
    this.#byId.set(manifest.id, manifest);
    return undefined;
  }

  of(connection: Connection): Guest {
    const name = nameOf(connection);
    const manifest = this.#manifests.get(connection) ?? this.#byId.get(name);
    if (manifest === undefined) return { name, mayCall: () => true, isPlugin: false };
    const needed = new Set(manifest.needsTools);
    const mayCall = (tool: string): boolean => needed.has(tool) || needed.has("*");
    return { name: manifest.id, mayCall, isPlugin: true };
  }

  manifestOf(id: string): PluginManifest | undefined {
    return this.#byId.get(id);
  }
}

function nameOf({ peer }: Connection): string {
  return peer === undefined ? "anonymous" : peer.name.replace(CLIENT, "");
}

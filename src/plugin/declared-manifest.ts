import { join } from "node:path";

import { fileWords, TrunklineError } from "../base/errors.ts";
import { readRegularFile, UnfitFileError } from "../base/file/read-regular-file.ts";
import { type PluginPermissions, type ProvidedNames, SHARED } from "./plugin/permissions.ts";
import type { Manifest } from "./sdk/definition.ts";

/** The manifest of a plugin as a file, beside its program or its package.json. */
export const MANIFEST_FILE = "trunkline.plugin.json";
/** Bytes of a manifest. */
export const MOST_MANIFEST = 1024 * 1024;

/** A plugin's description of itself before it is added. */
export type DeclaredManifest = Pick<Manifest, "id"> & Partial<Manifest>;

/**
 * Reads the manifest file of a plugin; undefined if there is none. The plugin is not trusted: links,
 * pipes and long files are refused.
 */
export function readManifestFile(folder: string): DeclaredManifest | undefined {
  const path = join(folder, MANIFEST_FILE);
  let text: string | undefined;
  try {
    text = readRegularFile(path, { most: MOST_MANIFEST, followsLinks: false })?.toString();
  } catch (error) {
    const why = error instanceof UnfitFileError ? error.message : fileWords(error, path);
    throw new TrunklineError("config", `Cannot read the manifest '${path}': ${why}.`);
  }
  if (text === undefined) return undefined;
  const manifest = parseManifest(text);
  if (manifest !== undefined) return manifest;
  const next = "`node PLUGIN --manifest` prints one of a plugin that you trust";
  throw new TrunklineError("config", `Cannot use the manifest '${path}': ${MALFORMED}. ${next}.`);
}

export const MALFORMED = "it is malformed or has no id";

/** Undefined where a text is no manifest. */
export function parseManifest(text: string): DeclaredManifest | undefined {
  try {
    const manifest = JSON.parse(text) as DeclaredManifest;
    const { id, permissions = {} } = manifest;
    const { run = false, namespace = "", read, write, hosts } = permissions;
    const lists = [...LISTS.map((name) => manifest[name]), read, write, hosts];
    const isGood = lists.every(isTexts) && typeof run === "boolean";
    return isGood && typeof namespace === "string" && typeof id === "string" ? manifest : undefined;
  } catch {
    return undefined;
  }
}

const LISTS = [
  ...["provides_tools", "provides_prompts", "provides_events", "provides_storage"],
  ...["provides_ai", "provides_transport", "needs_tools", "needs_events", "needs_storage"],
] as readonly (keyof Manifest)[];

function isTexts(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/**
 * The permissions that a plugin asks for. Without `permissions` in its manifest it asks for nothing of the
 * machine. `used` is the namespace that it has used so far.
 */
export function wantedPermissions(manifest: DeclaredManifest, used?: string): PluginPermissions {
  const { id, permissions = {} } = manifest;
  const { read, write, run = false, hosts } = permissions;
  const provides: ProvidedNames = {
    tools: manifest.provides_tools ?? ["*"],
    prompts: manifest.provides_prompts ?? ["*"],
    ...filled("storage", manifest.provides_storage),
    ...filled("ai", manifest.provides_ai),
    ...filled("transport", manifest.provides_transport),
  };
  // Plugins for Orchestra know no namespaces: those that need storage share it with the others.
  const isOfBefore =
    manifest.permissions === undefined && (manifest.needs_storage ?? []).length > 0;
  return {
    ...filled("tools", manifest.needs_tools),
    ...filled("read", read),
    ...filled("write", write),
    ...(run ? { run } : {}),
    ...filled("hosts", hosts),
    namespace: permissions.namespace ?? used ?? (isOfBefore ? SHARED : id),
    ...filled("publish", manifest.provides_events),
    ...filled("subscribe", manifest.needs_events),
    provides,
  };
}

function filled<K extends string>(
  name: K,
  list: readonly string[] = [],
): Partial<Record<K, readonly string[]>> {
  return list.length === 0 ? {} : ({ [name]: list } as Record<K, readonly string[]>);
}

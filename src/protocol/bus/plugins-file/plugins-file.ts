import { access, readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";

import { TrunklineError } from "../../../base/errors.ts";
import { whyUnreadable } from "../../../base/file/why-unreadable.ts";
import { type YamlValue, YamlReader } from "./yaml-reader.ts";

/** One plugin as `plugins.yaml` has it. */
export interface PluginEntry {
  readonly id: string;
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Sent to it when it boots. */
  readonly config: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  readonly providesStorage: readonly string[];
  readonly providesAi: readonly string[];
  /** Tools that it may call, besides those that it says itself. Orchestra's own file has none. */
  readonly needsTools?: readonly string[];
  readonly dependsOn: readonly string[];
}

/** Orchestra's `plugins.yaml`. What it does not set is left out. */
export interface PluginsFile {
  readonly listenAddr?: string;
  readonly tcpAddr?: string;
  readonly certsDir?: string;
  readonly plugins: readonly PluginEntry[];
  /** Settings that can be used, but are probably mistakes. */
  readonly warnings: readonly string[];
}

export interface PluginsFileOptions {
  /** What `~` stands for. */
  readonly home: string;
}

const KEYS = ["listen_addr", "tcp_addr", "certs_dir", "plugins"];
const PLUGIN_KEYS = [
  "id",
  "binary",
  "args",
  "env",
  "config",
  "enabled",
  "provides_storage",
  "provides_ai",
  "needs_tools",
  "depends_on",
];

/** It becomes a part of file names, certificates and addresses. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const ADDRESS = /^(?:[^\s:]*|\[[0-9A-Fa-f:.]+\]):(\d{1,5})$/;

/** Reads a file. A program that is named without a folder may be beside it, or on the PATH. */
export async function readPluginsFile(
  path: string,
  options: PluginsFileOptions,
): Promise<PluginsFile> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    const says = `Cannot read '${path}': ${whyUnreadable(error)}`;
    throw new TrunklineError("config", says, { cause: error });
  });
  const file = await parsePluginsFile(path, text, options);
  const folder = dirname(resolve(path));
  const plugins = await Promise.all(
    file.plugins.map(async (plugin) => ({
      ...plugin,
      binary: isBare(plugin.binary) ? await besideOrOnPath(folder, plugin.binary) : plugin.binary,
    })),
  );
  return { ...file, plugins };
}

async function parsePluginsFile(
  path: string,
  text: string,
  { home }: PluginsFileOptions,
): Promise<PluginsFile> {
  const reader = new YamlReader(path, text, await import("yaml"));
  const members = reader.members(reader.root);
  reader.warnOfUnknown(members, KEYS);
  const certsDir = reader.text(members.get("certs_dir"));
  const entries = reader.items(members.get("plugins")).map((at) => ({
    at,
    plugin: readPlugin(reader, at, dirname(resolve(path))),
  }));
  checkTogether(reader, entries);
  const file = {
    ...address(reader, "listenAddr", members.get("listen_addr")),
    ...address(reader, "tcpAddr", members.get("tcp_addr")),
    ...(certsDir === undefined || certsDir === "" ? {} : { certsDir: atHome(certsDir, home) }),
    plugins: entries.map(({ plugin }) => plugin),
    warnings: reader.warnings,
  };
  reader.finish();
  return file;
}

function readPlugin(reader: YamlReader, at: YamlValue, folder: string): PluginEntry {
  const members = reader.members(at);
  reader.warnOfUnknown(members, PLUGIN_KEYS);
  const id = reader.text(members.get("id")) ?? "";
  if (id === "") reader.complain(members.get("id") ?? at, "needs an id, such as 'tools.notes'");
  else if (!ID.test(id)) {
    const form = "letters, digits, '.', '_' and '-', at most 128, and begin with a letter or digit";
    reader.complain(members.get("id") ?? at, `is '${id}', but must be of ${form}`);
  }
  const enabled = reader.boolean(members.get("enabled"));
  if (!members.has("enabled")) {
    reader.warn(at, "does not say 'enabled: true', so it is not started");
  }
  const binary = reader.text(members.get("binary")) ?? "";
  if (binary === "" && enabled === true) {
    reader.complain(members.get("binary") ?? at, "needs a binary, the program to start");
  }
  const env = members.get("env");
  for (const [name, variable] of env === undefined ? [] : reader.members(env)) {
    if (!/^[^=\0]+$/.test(name)) reader.complain(variable, "cannot be the name of a variable");
  }
  return {
    id,
    binary: binary === "" || isBare(binary) || isAbsolute(binary) ? binary : join(folder, binary),
    // Orchestra takes this one argument to mean the folder of the file.
    args: reader
      .texts(members.get("args"))
      .map((arg) => (arg === "--workspace=." ? `--workspace=${folder}` : arg)),
    env: reader.textMap(env),
    config: reader.textMap(members.get("config")),
    enabled: enabled ?? false,
    providesStorage: reader.texts(members.get("provides_storage")),
    providesAi: reader.texts(members.get("provides_ai")),
    ...(members.has("needs_tools") ? { needsTools: reader.texts(members.get("needs_tools")) } : {}),
    dependsOn: reader.texts(members.get("depends_on")),
  };
}

function checkTogether(
  reader: YamlReader,
  entries: readonly { readonly at: YamlValue; readonly plugin: PluginEntry }[],
): void {
  const byId = new Map<string, PluginEntry>();
  for (const { at, plugin } of entries) {
    if (plugin.id !== "" && byId.has(plugin.id)) {
      reader.complain(at, `has the id '${plugin.id}', which another plugin has, too`);
    }
    byId.set(plugin.id, plugin);
  }
  for (const { at, plugin } of entries) {
    if (!plugin.enabled) continue;
    for (const id of plugin.dependsOn) {
      if (byId.get(id)?.enabled === true) continue;
      const why = byId.has(id) ? "is not enabled" : "is not in the file";
      reader.warn(at, `depends on '${id}', which ${why}: it is started without`);
    }
  }
}

function address<K extends string>(
  reader: YamlReader,
  key: K,
  at: YamlValue | undefined,
): Partial<Record<K, string>> {
  const text = reader.text(at);
  if (at === undefined || text === undefined || text === "") return {};
  const port = ADDRESS.exec(text)?.[1];
  if (port === undefined || Number(port) > 65_535) {
    reader.complain(at, `is '${text}', but must be HOST:PORT, such as 'localhost:50100'`);
  }
  return { [key]: text } as Record<K, string>;
}

function atHome(path: string, home: string): string {
  return path === "~" || path.startsWith("~/") ? join(home, path.slice(1)) : path;
}

function isBare(binary: string): boolean {
  return binary !== "" && !/[/\\]/.test(binary);
}

async function besideOrOnPath(folder: string, binary: string): Promise<string> {
  const beside = join(folder, binary);
  return access(beside).then(
    () => beside,
    () => binary,
  );
}

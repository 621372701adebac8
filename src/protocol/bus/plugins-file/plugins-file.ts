import type * as yaml from "yaml";
import { access, readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { TrunklineError } from "../../../base/errors.ts";
import { whyUnreadable } from "../../../base/file/why-unreadable.ts";
import type { Document, LineCounter, Node } from "yaml";
import { describeProblem, isObject, unknownKey } from "../../../base/check.ts";

/** One plugin as `plugins.yaml` has it. */
export interface PluginEntry {
  readonly id: string;
  /** The program to start. */
  readonly binary: string;
  readonly args: readonly string[];
  /** Environment variables in addition to the usual ones. */
  readonly env: Readonly<Record<string, string>>;
  /** Sent to it when it boots. */
  readonly config: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  /** Kinds of storage and AI that it offers, in addition to those in its manifest. */
  readonly providesStorage: readonly string[];
  readonly providesAi: readonly string[];
  /** Tools that it may call, in addition to those in its manifest. Orchestra's own file has none. */
  readonly needsTools?: readonly string[];
  /** Plugins that must be up before it is started. */
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

type Path = readonly (string | number)[];

/** Problems that are listed. A file of another kind has one in every line. */
const MAX_PROBLEMS = 20;
/** Aliases and merges: more than anybody writes by hand. A few lines can ask for billions. */
const MAX_ALIASES = 1_000;
const MAX_LENGTH = 1_000_000;

/** A value in the file, and the way to it. */
export interface YamlValue {
  readonly value: unknown;
  readonly path: Path;
}

/**
 * Reads a YAML file by its expected shape, and collects the problems with their positions. A value is the
 * text as it is written: `8080`, `010` and `true` are texts, too.
 */
export class YamlReader {
  readonly root: YamlValue;
  readonly warnings: string[] = [];
  readonly #file: string;
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  readonly #problems: { readonly offset: number; readonly says: string }[] = [];
  readonly #complained = new Set<string>();

  constructor(file: string, text: string, library: typeof yaml) {
    this.#file = file;
    this.#lines = new library.LineCounter();
    try {
      if (text.length > MAX_LENGTH) throw new Error(`it is longer than ${MAX_LENGTH} characters`);
      const document = library.parseDocument(text, {
        ...{ schema: "failsafe", customTags: ["null"], merge: true },
        ...{ lineCounter: this.#lines, prettyErrors: false },
      });
      this.#document = document;
      for (const { pos, message } of document.errors) {
        this.#problems.push({ offset: pos[0], says: message });
      }
      let aliases = 0;
      library.visit(document, {
        Alias: (_, alias) => {
          if (++aliases > MAX_ALIASES) throw new Error(`it has more than ${MAX_ALIASES} aliases`);
          if (alias.resolve(document) !== undefined) return;
          const says = `there is no anchor '&${alias.source}'`;
          this.#problems.push({ offset: alias.range?.[0] ?? 0, says });
        },
      });
      this.finish();
      this.root = { value: document.toJS({ maxAliasCount: MAX_ALIASES }), path: [] };
    } catch (error) {
      if (error instanceof TrunklineError) throw error;
      const { message } = error as Error;
      throw new TrunklineError("config", `Cannot read '${file}': ${message}`, { cause: error });
    }
  }

  /** Throws the problems that were noted, if there are any. */
  finish(): void {
    if (this.#problems.length === 0) return;
    const told = this.#problems
      .toSorted((a, b) => a.offset - b.offset)
      .slice(0, MAX_PROBLEMS)
      .map(({ offset, says }) => `${this.#at(offset)}: ${says}`);
    const more = this.#problems.length - told.length;
    if (more > 0) told.push(`… and ${more} more`);
    throw new TrunklineError("config", told.join("\n"));
  }

  /** Only the first problem of a value is reported: further ones follow from it. */
  complain(at: YamlValue, says: string): void {
    const name = JSON.stringify(at.path);
    if (this.#complained.has(name)) return;
    this.#complained.add(name);
    this.#problems.push({ offset: this.#offsetOf(at), says: sentence(at, says) });
  }

  warn(at: YamlValue, says: string): void {
    this.warnings.push(`${this.#at(this.#offsetOf(at))}: ${sentence(at, says)}`);
  }

  /** The members of an object. Nothing, and null, is an object without any. */
  members(at: YamlValue): Map<string, YamlValue> {
    const value = at.value ?? {};
    if (!isObject(value)) {
      this.complain(at, "must be an object");
      return new Map();
    }
    const members = Object.entries(value);
    return new Map(
      members.map(([key, member]) => [key, { value: member, path: [...at.path, key] }]),
    );
  }

  items(at: YamlValue | undefined): YamlValue[] {
    const value = at?.value ?? [];
    if (Array.isArray(value)) {
      return value.map((item, index) => ({ value: item, path: [...(at?.path ?? []), index] }));
    }
    if (at !== undefined) this.complain(at, "must be a list");
    return [];
  }

  /** Null is an empty text. */
  text(at: YamlValue | undefined): string | undefined {
    if (at === undefined) return undefined;
    const value = at.value ?? "";
    if (typeof value === "string") return value;
    this.complain(at, "must be a text");
    return undefined;
  }

  boolean(at: YamlValue | undefined): boolean | undefined {
    if (at === undefined) return undefined;
    const text = this.text(at)?.toLowerCase();
    if (text === undefined) return undefined;
    if (["true", "yes", "on", "y"].includes(text)) return true;
    if (["false", "no", "off", "n", ""].includes(text)) return false;
    this.complain(at, "must be true or false");
    return undefined;
  }

  texts(at: YamlValue | undefined): string[] {
    return this.items(at).map((item) => this.text(item) ?? "");
  }

  textMap(at: YamlValue | undefined): Record<string, string> {
    if (at === undefined) return {};
    const members = [...this.members(at)];
    return Object.fromEntries(members.map(([key, value]) => [key, this.text(value) ?? ""]));
  }

  /** Unknown keys are ignored, as Orchestra does, with a warning. */
  warnOfUnknown(members: ReadonlyMap<string, YamlValue>, known: readonly string[]): void {
    for (const [key, at] of members) {
      if (!known.includes(key)) this.warn(at, unknownKey(key, known));
    }
  }

  /** Where a value begins. One that was merged in, or is behind an alias, is where that is used. */
  #offsetOf({ path }: YamlValue): number {
    for (let steps = path.length; steps >= 0; steps--) {
      const node = this.#document.getIn(path.slice(0, steps), true) as Node | null | undefined;
      if (node?.range) return node.range[0];
    }
    return 0;
  }

  #at(offset: number): string {
    const { line, col } = this.#lines.linePos(offset);
    return `${this.#file}:${line}:${col}`;
  }
}

function sentence({ path }: YamlValue, says: string): string {
  return path.length === 0 ? `the file ${says}` : describeProblem("", { path: [...path], says });
}

import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** What a plugin may do that was approved when it was added. All else is denied. */
export interface PluginPermissions {
  /** Tools of others that it may call. */
  readonly tools?: readonly string[];
  /** Files and folders that it may read, and write, besides its own package. */
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  /** Whether it may start programs. */
  readonly run?: boolean;
}

/** What Node itself looks at when it starts a plugin. */
const NODE_READS = ["/proc/self/stat"];

/**
 * The flags that make Node enforce what a plugin may do with files and programs: its permission model.
 * It has the network, since it reaches the bus by it.
 */
export function permissionFlags(
  { read = [], write = [], run = false }: PluginPermissions,
  module: string,
  certsDir: string,
): string[] {
  const reads = [...packagesOf(module), certsDir, ...NODE_READS, ...read, ...write];
  return [
    ...["--no-warnings", "--permission", "--allow-net"],
    ...[...new Set(reads)].map((path) => `--allow-fs-read=${path}`),
    ...write.map((path) => `--allow-fs-write=${path}`),
    ...(run ? ["--allow-child-process"] : []),
  ];
}

/** For a program that may look around and do nothing else, such as say what it is. */
export const LOOKING_ONLY: readonly string[] = [
  ...["--no-warnings", "--permission", "--allow-fs-read=*"],
];

/** The folders of a module's own code: its package, what is installed for it, and our SDK. */
function packagesOf(module: string): string[] {
  const own = packageOf(realpathSync(module));
  const folders = [own];
  for (let at = own; ; at = dirname(at)) {
    const installed = join(at, "node_modules");
    if (existsSync(installed)) folders.push(installed, ...sdkIn(installed));
    if (at === dirname(at)) return folders;
  }
}

/** A package that was installed from a folder is a link to it. */
function sdkIn(installed: string): string[] {
  const sdk = join(installed, "trunkline");
  return existsSync(sdk)
    ? [join(realpathSync(sdk), "dist"), join(realpathSync(sdk), "package.json")]
    : [];
}

function packageOf(file: string): string {
  for (let at = dirname(file); at !== dirname(at); at = dirname(at)) {
    if (existsSync(join(at, "package.json"))) return at;
  }
  // A file that belongs to no package: that file, and none of its neighbours.
  return file;
}

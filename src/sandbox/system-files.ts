import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";

import { attempt } from "../base/attempt.ts";
import { isInside } from "../base/file/path.ts";
import type { Mount } from "./file-view.ts";

/** The programs of the system and their libraries. */
export const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"];

/** Programs and libraries of systems that have them elsewhere. */
const STORES = [
  ...["/nix/store", "/gnu/store", "/nix/var/nix/profiles"],
  ...["/run/current-system", "/run/booted-system", "/run/opengl-driver"],
];

/** Settings of the system that programs do not work without. They tell no secret. */
const SETTINGS = [
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone"],
  ...["mime.types", "nsswitch.conf", "host.conf", "gai.conf", "services", "protocols"],
  ...["os-release", "debian_version", "locale.conf", "locale.alias", "inputrc", "terminfo"],
  ...["fonts", "perl", "php", "magic", "xml", "sgml", "texmf", "R", "maven"],
  ...["ssl/openssl.cnf", "ssl/cert.pem", "pki/tls/openssl.cnf", "pki/tls/cert.pem"],
];
/** Such settings with versions in their names. */
const VERSIONED = /^(?:java-[\w-]+|python\d[\d.]*|ImageMagick-\d+|java)$/;

/** Certificates of authorities, with private keys beside them, and links to programs: too many to copy. */
const SHOWN = [
  ...["/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki/ca-trust", "/etc/pki/tls/certs"],
  "/etc/alternatives",
];

/** The user that programs in a sandbox run as. */
export interface SandboxUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/**
 * Arguments for bubblewrap that show the programs of the system. Links in the root are made again: on merged systems /bin links to /usr/bin.
 */
export function systemArguments(): string[] {
  const links = readdirSync("/", { withFileTypes: true }).filter((it) => it.isSymbolicLink());
  return [
    ...links.flatMap(({ name }) => ["--symlink", readlinkSync(`/${name}`), `/${name}`]),
    ...SYSTEM.filter(isFolder).flatMap((path) => ["--ro-bind", path, path]),
    ...["--perms", "0755", "--dir", "/run"],
  ];
}

/** What a sandbox shows of the machine's files beside them, whoever uses it. */
export function systemFiles(): string[] {
  return [...STORES, ...SHOWN].flatMap((path) => realPathOf(path) ?? []);
}

/**
 * Copies the settings of the system, as the /etc of sandboxes. It waits for the disk: each of hundreds of
 * small steps takes less time than to hand it to a thread.
 */
export function copySettings(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const versioned = readdirSync("/etc").filter((name) => VERSIONED.test(name));
  for (const name of [...SETTINGS, ...versioned]) {
    if (name.includes("/")) mkdirSync(dirname(join(folder, name)), { recursive: true });
    copy(`/etc/${name}`, join(folder, name));
  }
  for (const path of SHOWN.filter(isFolder)) {
    mkdirSync(join(folder, path.slice("/etc/".length)), { recursive: true });
  }
}

/** The files of /etc that have names: of the user of a sandbox, and of nobody else. */
export const NAMES = ["passwd", "group", "hosts"] as const;

/** Makes these files. Some programs look up the name of their user, and fail if there is none. */
export function writeNames(folder: string, { name, uid, gid, home }: SandboxUser): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const root = uid === 0 ? "" : "root:x:0:0:root:/root:/usr/sbin/nologin\n";
  const texts: Record<(typeof NAMES)[number], string> = {
    passwd: `${root}${name}:x:${uid}:${gid}:${name}:${home}:/bin/sh\n`,
    group: `${name}:x:${gid}:\n`,
    hosts: "127.0.0.1 localhost\n::1 localhost\n",
  };
  for (const each of NAMES) writeFileSync(join(folder, each), texts[each], { mode: 0o644 });
}

/** Copies what everybody may read. Links stay links if they lead to programs, and are followed if not. */
function copy(from: string, to: string): void {
  const found = attempt(() => statSync(from));
  if (found === undefined || (found.mode & 0o004) === 0) return;
  const target = attempt(() => readlinkSync(from));
  if (target !== undefined && isProgram(resolve(dirname(from), target))) symlinkSync(target, to);
  else if (found.isFile()) copyFileSync(from, to);
  else if (found.isDirectory()) {
    mkdirSync(to, { mode: 0o755 });
    for (const name of readdirSync(from)) copy(join(from, name), join(to, name));
  }
}

function isProgram(path: string): boolean {
  return [...SYSTEM, ...STORES].some((folder) => isInside(path, folder));
}

/** Variables that name the folder of a toolchain. */
const TOOLCHAINS = [
  ...["JAVA_HOME", "GOROOT", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT", "RBENV_ROOT", "NODENV_ROOT"],
  ...["VOLTA_HOME", "FNM_DIR", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "SDKMAN_DIR"],
  ...["ANDROID_HOME", "ANDROID_SDK_ROOT", "DOTNET_ROOT", "CONDA_PREFIX", "VIRTUAL_ENV"],
  ...["FLUTTER_ROOT", "EMSDK", "HOMEBREW_PREFIX"],
];

/**
 * Programs and certificates that variables name, outside of a home folder and of the system. `follow` gives
 * the path without links; undefined if it must not be followed.
 */
export function namedFiles(
  env: NodeJS.ProcessEnv,
  home: string,
  follow: (path: string) => string | undefined = realPathOf,
): Mount[] {
  const folders = (env.PATH ?? "").split(":");
  const certificates = [env.NODE_EXTRA_CA_CERTS, env.SSL_CERT_FILE, env.SSL_CERT_DIR];
  const toolchains = TOOLCHAINS.map((name) => env[name]);
  return [...folders.map(prefixOf), ...toolchains, ...certificates].flatMap((at) => {
    const from = at && isAbsolute(at) ? follow(at) : undefined;
    if (at === undefined || from === undefined) return [];
    // A folder that holds a home holds more than programs.
    const isMore = isProgram(from) || isInside(from, home) || isInside(home, from);
    return isMore ? [] : [{ at, from, isWritable: false }];
  });
}

/** What belongs to a folder of programs: its libraries are often beside it. */
function prefixOf(folder: string): string {
  const above = dirname(folder);
  const beside = ["lib", "lib64", "libexec", "include", "share"];
  const isPrefix = /\/s?bin$/.test(folder) && beside.some((name) => isFolder(join(above, name)));
  return isPrefix ? above : folder;
}

/** Whether it is one that we may look at: PATH may name folders that are closed to us. */
function isFolder(path: string): boolean {
  return attempt(() => lstatSync(path).isDirectory(), false);
}

/** The path without links, if it exists. */
export function realPathOf(path: string): string | undefined {
  return attempt(() => realpathSync.native(path));
}

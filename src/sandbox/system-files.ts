import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { copyFile, mkdir, readdir, readlink, stat, symlink, writeFile } from "node:fs/promises";
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
  return [...STORES, ...SHOWN].flatMap((path) => real(path) ?? []);
}

/** Makes the /etc of a sandbox: settings of the system, and names of nobody else. */
export async function makeEtc(folder: string, user: SandboxUser): Promise<void> {
  await mkdir(folder, { mode: 0o755 });
  const versioned = (await readdir("/etc")).filter((name) => VERSIONED.test(name));
  for (const name of [...SETTINGS, ...versioned]) {
    if (name.includes("/")) await mkdir(dirname(join(folder, name)), { recursive: true });
    await copy(`/etc/${name}`, join(folder, name));
  }
  for (const path of SHOWN.filter(isFolder)) {
    await mkdir(join(folder, path.slice("/etc/".length)), { recursive: true });
  }
  const { name, uid, gid, home } = user;
  const root = uid === 0 ? "" : "root:x:0:0:root:/root:/usr/sbin/nologin\n";
  // Some programs look up the name of their user, and fail if there is none.
  const users = `${root}${name}:x:${uid}:${gid}:${name}:${home}:/bin/sh\n`;
  await writeFile(join(folder, "passwd"), users, { mode: 0o644 });
  await writeFile(join(folder, "group"), `${name}:x:${gid}:\n`, { mode: 0o644 });
  await writeFile(join(folder, "hosts"), "127.0.0.1 localhost\n::1 localhost\n", { mode: 0o644 });
}

/** Copies what everybody may read. Links stay links if they lead to programs, and are followed if not. */
async function copy(from: string, to: string): Promise<void> {
  const found = await stat(from).catch(() => undefined);
  if (found === undefined || (found.mode & 0o004) === 0) return;
  const target = await readlink(from).catch(() => undefined);
  if (target !== undefined && isProgram(resolve(dirname(from), target))) return symlink(target, to);
  if (found.isFile()) return copyFile(from, to);
  if (!found.isDirectory()) return;
  await mkdir(to, { mode: 0o755 });
  for (const name of await readdir(from)) await copy(join(from, name), join(to, name));
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
  follow: (path: string) => string | undefined = real,
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
export function real(path: string): string | undefined {
  return attempt(() => realpathSync.native(path));
}

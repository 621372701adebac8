import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import { ROOT } from "./program.ts";

const FOLDER = join(ROOT, ".cache/bench/histories");
const AT_ONCE = 8;

export interface PublishedPackage {
  readonly name: string;
  /** The first and the last release that are used; both are fixed, so that figures can be repeated. */
  readonly from: string;
  readonly to: string;
}

interface Manifest {
  readonly versions: Readonly<Record<string, { readonly dist: { readonly tarball: string } }>>;
}

/**
 * A git repository with one commit for each release of an npm package: a history of source code that
 * can be downloaded wherever this program can be installed. Undefined if it is not there and may not
 * be downloaded.
 */
export async function npmHistory(
  { name, from, to }: PublishedPackage,
  isOffline: boolean,
): Promise<string | undefined> {
  const repository = join(FOLDER, `${name}-${from}-${to}.git`);
  if (existsSync(repository)) return repository;
  if (isOffline) return undefined;
  process.stderr.write(`Downloading the releases of ${name} …\n`);
  const registry = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
  const { versions } = (await (await download(new URL(name, registry).href)).json()) as Manifest;
  const wanted = Object.keys(versions)
    .filter((version) => /^\d+\.\d+\.\d+$/.test(version))
    .toSorted(inOrder)
    .filter((version) => inOrder(from, version) <= 0 && inOrder(version, to) <= 0);
  const started = `${repository}.part`;
  rmSync(started, { recursive: true, force: true });
  mkdirSync(started, { recursive: true });
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", started]);
  const commits: Buffer[] = [];
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    const some = wanted.slice(at, at + AT_ONCE);
    const tarballs = some.map(async (version) => {
      const response = await download(versions[version]?.dist.tarball ?? "");
      return gunzipSync(await response.arrayBuffer());
    });
    for (const [n, tar] of (await Promise.all(tarballs)).entries()) {
      commits.push(commitOf(some[n] ?? "", at + n, filesOf(tar)));
    }
  }
  const { status, stderr } = spawnSync("git", ["fast-import", "--quiet"], {
    cwd: started,
    input: Buffer.concat(commits),
  });
  if (status !== 0) throw new Error(`git fast-import failed for ${name}: ${stderr.toString()}`);
  renameSync(started, repository);
  return repository;
}

async function download(url: string): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response;
}

function inOrder(one: string, other: string): number {
  const [a, b] = [one, other].map((version) => version.split(".").map(Number));
  for (const n of [0, 1, 2]) {
    const difference = (a?.[n] ?? 0) - (b?.[n] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** One commit in the format of git-fast-import(1). */
function commitOf(version: string, number: number, files: ReadonlyMap<string, Buffer>): Buffer {
  const head = [
    "commit refs/heads/main",
    `committer npm <npm@example.com> ${1_000_000_000 + number} +0000`,
    `data ${version.length}`,
    version,
    "deleteall",
    "",
  ];
  const parts: Buffer[] = [Buffer.from(head.join("\n"))];
  for (const [path, content] of files) {
    const file = `M 100644 inline ${JSON.stringify(path)}\ndata ${content.length}\n`;
    parts.push(Buffer.from(file), content, Buffer.from("\n"));
  }
  return Buffer.concat(parts);
}

/** The source files of a tar archive (POSIX ustar), without those that a bundler made. */
function filesOf(tar: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const text = (from: number, length: number): string =>
    tar.toString("utf8", from, from + length).replace(/\0[^]*$/, "");
  let longName = "";
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, 12).trim() || "0", 8);
    const type = text(at + 156, 1);
    const content = tar.subarray(at + 512, at + 512 + size);
    const prefix = text(at + 257, 5) === "ustar" ? text(at + 345, 155) : "";
    const name = [prefix, text(at, 100)].filter(Boolean).join("/");
    const path = (longName || name).replace(/^[^/]+\//, "");
    longName = type === "x" ? (/\d+ path=(.*)\n/.exec(content.toString("utf8"))?.[1] ?? "") : "";
    if (type === "0" || type === "") if (isSource(path, content)) files.set(path, content);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

function isSource(path: string, content: Buffer): boolean {
  if (
    !/\.(?:m?js|ts|md)$/.test(path) ||
    /(?:^|\/)(?:node_modules|dist|build|lib-cov|support)\//.test(path)
  ) {
    return false;
  }
  const lines = content.toString("utf8").split("\n");
  return content.length < 300_000 && content.length / lines.length < 120;
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";

import { SeededRandom } from "../../test/support/seeded-random.ts";

export interface MadeRepository {
  /** A bare repository. */
  readonly path: string;
  readonly url: string;
  readonly revision: string;
  readonly files: number;
  readonly commits: number;
}

interface Size {
  readonly files: number;
  readonly commits: number;
  /** Files that a commit changes. */
  readonly changes: number;
}

/** As a library, and as a programming language with its standard library are. */
export const SMALL: Size = { files: 400, commits: 200, changes: 3 };
export const LARGE: Size = { files: 15_000, commits: 4_000, changes: 3 };

const WORDS = "user order cache token build queue index route event store value count".split(" ");
/** Different lines that files are made of: enough that they compress about as source code does. */
const LINES = 50_000;

/** Part of the names of kept repositories: raise it when others are made. */
const EDITION = 1;

/** A repository that nothing is pushed to. It is made once and kept, since a large one takes a while. */
export async function keptRepository(size: Size): Promise<MadeRepository> {
  const { files, commits, changes } = size;
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(cache, "trunkline-bench", "repositories");
  const path = join(folder, `${files}-${commits}-${changes}-${EDITION}.git`);
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true });
    const unfinished = mkdtempSync(`${path}-`);
    try {
      await makeRepository(unfinished, size);
      renameSync(unfinished, path);
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
  }
  return madeAt(path, size);
}

/** Makes a repository by `git fast-import`: the same one for the same size. */
export async function makeRepository(path: string, size: Size): Promise<MadeRepository> {
  const { files, commits, changes } = size;
  mkdirSync(path, { recursive: true });
  execFileSync("git", ["init", "-q", "--bare", "-b", "main", path]);
  const child = spawn("git", ["--git-dir", path, "fast-import", "--quiet"], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  const random = new SeededRandom(files);
  const lines = Array.from({ length: LINES }, () => {
    const hash = random.bytes(12).toString("hex");
    return `${random.pick(WORDS)} ${random.pick(WORDS)} = "${hash}";\n`;
  });
  const write = async (text: string): Promise<void> => {
    if (!child.stdin.write(text)) await once(child.stdin, "drain");
  };
  const blob = (at: number): string => {
    let content = "";
    for (let left = 20 + random.below(160); left > 0; left--) content += random.pick(lines);
    const name = `src/part${at % 97}/area${at % 13}/file${at}.txt`;
    return `M 644 inline ${name}\ndata ${Buffer.byteLength(content)}\n${content}\n`;
  };
  for (let commit = 0; commit < commits; commit++) {
    const message = `Commit ${commit}`;
    const who = `committer Ida <ida@example.com> ${1_700_000_000 + commit} +0000`;
    await write(`commit refs/heads/main\n${who}\ndata ${message.length}\n${message}\n`);
    if (commit === 0) for (let at = 0; at < files; at++) await write(blob(at));
    else for (let change = 0; change < changes; change++) await write(blob(random.below(files)));
  }
  child.stdin.end("done\n");
  const [code] = (await once(child, "exit")) as [number];
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
  return madeAt(path, size);
}

function madeAt(path: string, { files, commits }: Size): MadeRepository {
  const head = execFileSync("git", ["--git-dir", path, "rev-parse", "main"], { encoding: "utf8" });
  return { path, url: `file://${path}`, revision: head.trim(), files, commits };
}

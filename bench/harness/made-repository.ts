import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";

import { SeededRandom } from "../../test/support/seeded-random.ts";

export interface MadeRepository {
  readonly url: string;
  readonly revision: string;
}

/** As a library is. */
export const SIZE = { files: 400, commits: 200, changes: 3 } as const;

const WORDS = "user order cache token build queue index route event store value count".split(" ");
/** Different lines that files are made of: enough that they compress about as source code does. */
const LINES = 50_000;

/** Makes a bare repository by `git fast-import`: the same one each time. */
export async function makeRepository(
  path: string,
  { files, commits, changes }: Record<keyof typeof SIZE, number> = SIZE,
): Promise<MadeRepository> {
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
  const head = execFileSync("git", ["--git-dir", path, "rev-parse", "main"], { encoding: "utf8" });
  return { url: `file://${path}`, revision: head.trim() };
}

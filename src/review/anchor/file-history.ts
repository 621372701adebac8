import { Git } from "../../git/git.ts";
import { linesOf, textOf } from "./file-lines.ts";

/** If a file has more versions since the comment, only the first and the last are compared. */
const MOST_VERSIONS = 100;
/** The most files in one run: each costs two calls of git. */
const MOST_HISTORIES = 100;
const LARGEST = 1024 * 1024;
const AT_ONCE = 4;

type Text = readonly string[];

/** The history of files, commit by commit. */
export class FileHistory {
  readonly #git: Git;
  readonly #known = new Map<string, Promise<readonly Text[]>>();
  readonly #lanes: Promise<unknown>[] = [];

  constructor(root: string) {
    this.#git = new Git(root);
  }

  /**
   * The texts of a file in the commits since one, oldest first, across renames. Empty if git cannot
   * tell, or there are too many.
   */
  since(commit: string, path: string): Promise<readonly Text[]> {
    const key = `${commit} ${path}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= MOST_HISTORIES) return Promise.resolve([]);
    const lane = this.#known.size % AT_ONCE;
    const asked = (this.#lanes[lane] ?? Promise.resolve()).then(() => this.#ask(commit, path));
    this.#lanes[lane] = asked.catch(() => undefined);
    this.#known.set(key, asked);
    return asked;
  }

  async #ask(commit: string, path: string): Promise<readonly Text[]> {
    const what = ["--first-parent", "--follow", "-M", "--raw", "-z", "--no-abbrev", "--format="];
    const range = [`--max-count=${MOST_VERSIONS + 1}`, "--end-of-options", `${commit}..HEAD`];
    const args = ["log", ...what, ...range, "--", `:(top,literal)${path}`];
    const { code, stdout } = await this.#git.run(args, { accepts: [0, 128] });
    const blobs = stdout.toString("latin1").match(/(?<=:\d+ \d+ [0-9a-f]+ )[0-9a-f]+(?= [AMR])/g);
    if (code !== 0 || blobs === null || blobs.length > MOST_VERSIONS) return [];
    return this.#read(blobs.toReversed());
  }

  async #read(blobs: readonly string[]): Promise<Text[]> {
    const input = blobs.map((blob) => `${blob}\n`).join("");
    const { stdout } = await this.#git.run(["cat-file", "--batch"], { input });
    const texts: Text[] = [];
    for (let from = 0; from < stdout.length;) {
      const line = stdout.indexOf("\n", from);
      const [, size] = / blob (\d+)$/.exec(stdout.toString("latin1", from, line)) ?? [];
      const to = line + 1 + Number(size ?? -1);
      if (size !== undefined && Number(size) <= LARGEST) {
        texts.push(linesOf(textOf(stdout.subarray(line + 1, to))));
      }
      from = to + 1;
    }
    return texts;
  }
}

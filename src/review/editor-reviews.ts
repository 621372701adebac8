import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { watchFolder } from "../base/file/watch-folder.ts";
import { visible } from "../base/text/visible.ts";
import type { Reviews } from "../store/review/reviews.ts";
import { addComment } from "./add-comment.ts";
import { draftText, textOfDraft } from "./draft.ts";
import { watchReviews } from "./inbox/watch-reviews.ts";
import { findRepository, type FoundRepository, openRepository } from "./repository.ts";
import { ReviewCommands } from "./review-commands.ts";
import { UNRESOLVED } from "./thread-view.ts";

/** Absolute paths of files, with their texts in the editor. */
type UnsavedTexts = ReadonlyMap<string, string>;

/** Bytes of what a person writes. */
const LONGEST_DRAFT = 1024 * 1024;
/** Milliseconds in which an editor has written a file. */
const WRITING = 100;

/** Reviews as editors use them: positions in texts that are not saved, and files to write comments in. */
export class EditorReviews implements Disposable {
  readonly #reviews: Reviews;
  readonly #data: string;
  /** The name of the person who writes. */
  readonly #by: string;
  readonly #drafts = new Map<string, () => void>();
  readonly #ends = new DisposableStack();
  #folder: string | undefined;

  constructor(reviews: Reviews, by: string) {
    this.#reviews = this.#ends.use(reviews);
    this.#data = dirname(reviews.path);
    this.#by = by;
  }

  [Symbol.dispose](): void {
    this.#ends[Symbol.dispose]();
  }

  /** The unresolved threads of the repository of a file or folder, in the texts that the editor has. */
  async threads(place: string, unsaved: UnsavedTexts, only?: ReadonlySet<string>) {
    const here = findRepository(place) ?? findRepository(dirname(place));
    if (here === undefined) return [];
    const commands = await this.#commandsIn(here, unsaved);
    const all = await this.#reviews.list({ gitDir: here.gitDir, states: UNRESOLVED });
    const wanted = only === undefined ? all : all.filter(({ id }) => only.has(id));
    const views = await commands.views(wanted);
    return Promise.all(
      views.map(async (view) => {
        const { id, file, line, end, severity, comment, by, confidence, suggestion } = view;
        const said = (await this.#reviews.history(id)).slice(1).flatMap((event) => {
          const text = event.text ?? event.proposal?.text;
          return text === undefined ? [] : [`${event.by}: ${text}`];
        });
        const isGone = confidence === "gone";
        const doubt = confidence === "low" ? "(?) " : "";
        const head = isGone ? "(The commented lines are gone.) " : doubt;
        return {
          ...{ id, file: join(here.root, file), severity },
          ...{ line, end, hasSuggestion: suggestion !== undefined && !isGone },
          text: visible([`${head}${by}: ${comment}`, ...said].join("\n")),
        };
      }),
    );
  }

  watch(changed: () => void): () => void {
    return watchReviews(this.#data, changed);
  }

  async resolve(id: string): Promise<void> {
    await this.#reviews.resolve(id, { by: this.#by, role: "person" });
  }

  async replacement(id: string, unsaved: UnsavedTexts) {
    const here = openRepository((await this.#reviews.get(id)).repository.root);
    return (await (await this.#commandsIn(here, unsaved)).suggested(id)).replaced;
  }

  /** `text` is that of the file in the editor. */
  writeComment(
    { text, ...place }: Record<"line" | "end", number> & { file: string; text: string | undefined },
    said: (outcome: string) => void,
  ): string {
    const { file, line, end } = place;
    const where = `${file}:${line}${end === line ? "" : `-${end}`}`;
    return this.#write("comment", where, said, async (comment) => {
      const folder = dirname(file);
      const unsaved = text === undefined ? undefined : Buffer.from(text);
      const added = { ...place, unsaved, comment, by: this.#by, source: "editor" };
      const { id } = await addComment(this.#reviews, openRepository(folder), folder, added);
      return `Opened ${id}.`;
    });
  }

  writeReply({ id, text }: Record<"id" | "text", string>, said: (outcome: string) => void): string {
    return this.#write(`reply-${id}`, text, said, async (reply) => {
      await this.#reviews.reply(id, { by: this.#by, role: "person", text: reply });
      return `Replied to ${id}.`;
    });
  }

  async #commandsIn(here: FoundRepository, unsaved: UnsavedTexts): Promise<ReviewCommands> {
    const inside = new Map<string, Uint8Array>();
    for (const [file, text] of unsaved) {
      const path = relative(here.root, file).split(sep).join("/");
      if (!path.startsWith("../")) inside.set(path, Buffer.from(text));
    }
    const commands = new ReviewCommands(this.#reviews, here.root, here, inside);
    await commands.recognise(here);
    return commands;
  }

  /** What is saved to the file is sent once. A text that cannot be sent may be saved again. */
  #write(
    name: string,
    about: string,
    said: (outcome: string) => void,
    send: (text: string) => Promise<string>,
  ): string {
    this.#folder ??= this.#watched();
    const file = join(this.#folder, `${name}-${this.#drafts.size + 1}.md`);
    let sent = "";
    let outcome = "";
    const look = async (): Promise<void> => {
      const content = readRegularFile(file, { most: LONGEST_DRAFT, followsLinks: false });
      const text = textOfDraft(content?.toString("utf8") ?? "");
      if (text === "" || text === sent) return;
      if (outcome !== "") {
        said(`${outcome} What you saved after that was not sent: reply to the thread.`);
        return;
      }
      sent = text;
      outcome = await send(text);
      said(outcome);
    };
    let timer: NodeJS.Timeout | undefined;
    this.#drafts.set(file, () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        look().catch((error: unknown) => {
          // An editor may be about to replace it.
          if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
          sent = "";
          said(error instanceof TrunklineError ? error.message : `Not sent: ${String(error)}`);
        });
      }, WRITING);
    });
    this.#ends.defer(() => clearTimeout(timer));
    writeFileSync(file, draftText(about), { mode: 0o600 });
    return file;
  }

  #watched(): string {
    const { path } = this.#ends.use(mkdtempDisposableSync(join(tmpdir(), "trunkline-review-")));
    const changed = (name: string | undefined): void => {
      for (const [file, look] of this.#drafts)
        if (name === undefined || join(path, name) === file) look();
    };
    this.#ends.defer(watchFolder(path, changed));
    return path;
  }
}

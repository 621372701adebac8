import { FileNames } from "../../agent/prompt/file-names.ts";
import type { PickerItem } from "./picker.ts";

/** What may be typed instead of the end of the text before the cursor. */
export interface Completion {
  readonly length: number;
  readonly items: readonly PickerItem[];
  readonly kind: "command" | "file" | "session";
}

interface CompletionSources {
  readonly commands: () => readonly PickerItem[];
  readonly sessions: () => Promise<readonly PickerItem[]>;
  readonly folder: () => string;
}

const COMMAND = /^\/(\S*)$/;
const SESSION = /^\/resume (\S*)$/;
const FILE = /(?:^|\s)@(\S*)$/;
const MOST = 50;

/** Completes commands, files and sessions. */
export class Completions {
  readonly #sources: CompletionSources;
  readonly #files = new FileNames();

  constructor(sources: CompletionSources) {
    this.#sources = sources;
  }

  async of(before: string): Promise<Completion | undefined> {
    const command = COMMAND.exec(before)?.[1];
    if (command !== undefined) {
      const items = matching(this.#sources.commands(), command);
      return some({ length: command.length + 1, items, kind: "command" });
    }
    const session = SESSION.exec(before)?.[1];
    if (session !== undefined) {
      const items = matching(await this.#sources.sessions(), session);
      return some({ length: session.length, items, kind: "session" });
    }
    const file = FILE.exec(before)?.[1];
    if (file === undefined) return undefined;
    const names = await this.#files.of(this.#sources.folder(), file);
    const items = names.map((name) => ({ value: `@${name}`, label: name }));
    return some({ length: file.length + 1, items, kind: "file" });
  }
}

function some(completion: Completion): Completion | undefined {
  return completion.items.length === 0 ? undefined : completion;
}

function matching(items: readonly PickerItem[], typed: string): readonly PickerItem[] {
  const text = typed.toLowerCase();
  const begin = items.filter(({ value }) => value.replace("/", "").toLowerCase().startsWith(text));
  return begin.slice(0, MOST);
}

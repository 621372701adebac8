import { AcpEditor, type Place } from "../acp-editor.ts";
import type { Program } from "../program.ts";
import type { Member, Outcome } from "./member.ts";
import { AskedFor, type View, viewOf } from "./shown.ts";

const text = (words: string): object[] => [{ type: "text", text: words }];
/** What Zed says of itself. */
const ZED = { fs: { readTextFile: true, writeTextFile: true }, terminal: true };

/** An editor as Zed is: it starts `trunkline acp` and speaks on its standard streams. */
export class EditorMember implements Member {
  readonly #editor: AcpEditor;
  readonly #sessionId: string;
  readonly #own: string[] = [];

  private constructor(editor: AcpEditor, sessionId: string) {
    this.#editor = editor;
    this.#sessionId = sessionId;
  }

  /** Loads a session, or begins one. */
  static async open(place: Place, config: object, sessionId?: string): Promise<EditorMember> {
    const editor = new AcpEditor(place, {
      config,
      capabilities: ZED,
      answers: { "session/request_permission": () => undefined },
      isShared: true,
    });
    if (sessionId === undefined) return new EditorMember(editor, await editor.begin());
    await editor.hello();
    await editor.ask("session/load", { sessionId, cwd: place.folder, mcpServers: [] });
    return new EditorMember(editor, sessionId);
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  get program(): Program {
    return this.#editor.program;
  }

  get pid(): number {
    return this.program.child.pid ?? 0;
  }

  get view(): View {
    const others = this.#editor.updates("user_message_chunk").map(({ content }) => content.text);
    return viewOf(this.#editor.text(), [...others, ...this.#own]);
  }

  get asked(): AskedFor {
    const asked = new AskedFor();
    const titles = new Map<unknown, string>();
    for (const { id, method, params } of this.#editor.messages) {
      if (method === "session/request_permission") {
        titles.set(id, params.toolCall.title);
        asked.ask(params.toolCall.title);
      }
      if (method === "$/cancel_request") asked.withdraw(titles.get(params.requestId) ?? "");
    }
    return asked;
  }

  async prompt(words: string): Promise<Outcome> {
    this.#own.push(words);
    const params = { sessionId: this.#sessionId, prompt: text(words) };
    const { result, error } = await this.#editor.answerTo(
      this.#editor.post("session/prompt", params),
    );
    return error === undefined ? result : { error };
  }

  cancel(): void {
    this.#editor.notify("session/cancel", { sessionId: this.#sessionId });
  }

  allow(title: string): void {
    const question = this.#editor.messages.findLast(
      ({ method, params }) =>
        method === "session/request_permission" && params.toolCall.title === title,
    );
    const result = { outcome: { outcome: "selected", optionId: "once" } };
    this.program.write({ jsonrpc: "2.0", id: question?.id, result });
  }

  async setMode(modeId: string): Promise<void> {
    await this.#editor.ask("session/set_mode", { sessionId: this.#sessionId, modeId });
  }
}

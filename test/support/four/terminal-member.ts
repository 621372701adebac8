import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

import type { Place } from "../acp-editor.ts";
import { Program } from "../program.ts";
import type { Member, Outcome } from "./member.ts";
import { AskedFor, type View, viewOf } from "./shown.ts";

/** `trunkline session attach` in a terminal. */
export class TerminalMember implements Member {
  readonly program: Program;
  readonly #own: string[] = [];
  #written = "";

  private constructor(place: Place, sessionId: string) {
    const config = join(place.path, "config.jsonc");
    this.program = new Program(["session", "attach", sessionId, "--config", config], {
      env: { HOME: place.home, TMPDIR: place.home, TERM: "xterm" },
      // A terminal of its own; what it runs is its only child.
      within: ["sh", "-c", 'exec script -qfec "exec $*" /dev/null', "sh"],
    });
    // The last line has no end while the agent speaks.
    this.program.child.stdout.on("data", (text: string) => (this.#written += text));
  }

  static async open(place: Place, sessionId: string): Promise<TerminalMember> {
    const member = new TerminalMember(place, sessionId);
    await member.program.until(() => member.#output.includes("You control this session"));
    return member;
  }

  get pid(): number {
    const { pid } = this.program.child;
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
  }

  get #output(): string {
    return stripVTControlCharacters(this.#written).replaceAll("\r", "");
  }

  get view(): View {
    const prompts = this.#output.matchAll(/^> (.*)$/gm).map(([, words = ""]) => words);
    return viewOf(this.#output, [...prompts, ...this.#own]);
  }

  get asked(): AskedFor {
    const asked = new AskedFor();
    const lines = this.#output.matchAll(/^\? (.*)$|\((no answer is needed) any more\)/gm);
    let last = "";
    for (const [, title, over] of lines) {
      if (over === undefined) asked.ask((last = title ?? ""));
      else asked.withdraw(last);
    }
    return asked;
  }

  prompt(words: string): Promise<Outcome> {
    this.#own.push(words);
    this.program.write(words);
    return Promise.resolve(undefined);
  }

  cancel(): void {
    this.program.write("/cancel");
  }

  allow(): void {
    this.program.write("1");
  }
}

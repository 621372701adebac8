import { paint, type StyleName } from "../shell/style.ts";

/** The beginning of a line that may still become a heading or a fence. */
const UNDECIDED = /^ {0,3}(?:#{0,6}|`{0,2}|~{0,2})$/;
const HEADING = /^ {0,3}#{1,6} $/;
const FENCE = /^ {0,3}(?:```|~~~)/;

/**
 * Shows Markdown as it arrives, piece by piece: headings and bold text bold, code in colour. The marks
 * of bold text, inline code and headings are left out; everything else stays as it was written, so
 * that code can be copied.
 */
export class MarkdownText {
  readonly #color: boolean;
  /** The beginning of the line, until it is known what the line is. */
  #head: string | undefined = "";
  /** Marks at the end of what arrived, of which the next character decides. */
  #held = "";
  #line: "text" | "heading" | "fence" = "text";
  #isBold = false;
  #isCode = false;
  #isInBlock = false;

  constructor(color: boolean) {
    this.#color = color;
  }

  /** The text to print for the next piece. */
  write(text: string): string {
    if (!this.#color) return text;
    const [first = "", ...others] = text.split("\n");
    return [
      this.#part(first),
      ...others.map((part) => `${this.#endLine()}\n${this.#part(part)}`),
    ].join("");
  }

  /** The rest, when nothing more comes. */
  end(): string {
    const rest = this.#color ? this.#endLine() : "";
    this.#isInBlock = false;
    return rest;
  }

  /** A piece of one line. */
  #part(text: string): string {
    if (this.#head === undefined) return this.#inLine(text);
    let at = 0;
    while (at < text.length) {
      this.#head += text[at++];
      if (!UNDECIDED.test(this.#head)) return this.#decide(text.slice(at));
    }
    return "";
  }

  /** It is known now what the line is: its beginning is printed, and what follows. */
  #decide(rest: string): string {
    const head = this.#head ?? "";
    this.#head = undefined;
    if (FENCE.test(head)) this.#line = "fence";
    else if (HEADING.test(head) && !this.#isInBlock) {
      this.#line = "heading";
      return this.#inLine(rest);
    }
    return this.#inLine(head + rest);
  }

  #endLine(): string {
    const begun = this.#head === undefined ? "" : this.#decide("");
    const rest = this.#held === "" ? "" : this.#paint(this.#held);
    if (this.#line === "fence") this.#isInBlock = !this.#isInBlock;
    this.#head = "";
    this.#held = "";
    this.#line = "text";
    this.#isBold = false;
    this.#isCode = false;
    return begun + rest;
  }

  #inLine(text: string): string {
    if (this.#isInBlock || this.#line === "fence") return this.#paint(text);
    const all = this.#held + text;
    this.#held = "";
    let shown = "";
    let run = "";
    const turn = (change: () => void): void => {
      shown += this.#paint(run);
      run = "";
      change();
    };
    for (let at = 0; at < all.length; at++) {
      const character = all[at];
      if (character === "`") turn(() => (this.#isCode = !this.#isCode));
      else if (character !== "*" || this.#isCode) run += character;
      else if (at + 2 >= all.length && /^\*{1,2}$/.test(all.slice(at)) && !this.#closes(all, at)) {
        this.#held = all.slice(at);
        break;
      } else if (all[at + 1] === "*" && (this.#isBold || /\S/.test(all[at + 2] ?? ""))) {
        turn(() => (this.#isBold = !this.#isBold));
        at++;
      } else run += character;
    }
    return shown + this.#paint(run);
  }

  /** Two stars that end bold text need no look at what follows. */
  #closes(all: string, at: number): boolean {
    return this.#isBold && all[at + 1] === "*";
  }

  #paint(text: string): string {
    if (text === "") return "";
    const style = this.#style();
    return style === undefined ? text : paint(style, text, true);
  }

  #style(): StyleName | undefined {
    if (this.#line === "fence") return "dim";
    if (this.#isInBlock || this.#isCode) return "cyan";
    return this.#isBold || this.#line === "heading" ? "bold" : undefined;
  }
}

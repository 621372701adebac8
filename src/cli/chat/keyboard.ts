import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";

export interface KeyboardOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream & { readonly columns?: number };
  readonly line: (line: string) => void;
  /** A digit was pressed where nothing else was typed. Returns whether it was used. */
  readonly digit: (digit: string) => boolean;
  /** Ctrl-C, where no line is typed. */
  readonly interrupt: () => void;
  /** Ctrl-D, or the end of the input. */
  readonly end: () => void;
}

/** Lines that a person types, with editing and history. What is typed ahead is not shown. */
export class Keyboard implements Disposable {
  readonly #lines: Interface;
  readonly #output: EchoOutput;
  /** Nothing on it can be erased, so readline writes only what is typed, and knows no keys of editing. */
  readonly #isDumb = process.env.TERM === "dumb";

  constructor({ input, output, line, digit, interrupt, end }: KeyboardOptions) {
    this.#output = new EchoOutput(output);
    const lines = createInterface({
      input,
      output: this.#output,
      terminal: true,
      prompt: "> ",
      historySize: 200,
    });
    this.#lines = lines;
    lines.on("line", line);
    lines.on("close", end);
    lines.on("SIGINT", () => {
      if (lines.line === "" || !this.#output.isShown) interrupt();
      else this.#erase();
    });
    // Ctrl-Z stops the process. When it goes on, readline has paused the input.
    lines.on("SIGCONT", () => {
      if (this.#output.isShown) this.prompt();
      else lines.resume();
    });
    // Readline has put the digit into the line when this is called.
    input.on("keypress", (text: unknown) => {
      if (typeof text !== "string" || !/^[1-9]$/.test(text) || lines.line !== text) return;
      if (digit(text)) this.#erase();
    });
  }

  /** Shows the prompt, with what was typed ahead. */
  prompt(): void {
    this.#output.isShown = true;
    this.#lines.prompt(true);
    if (this.#isDumb) this.#output.write(this.#lines.line);
  }

  /** Hides what is typed. */
  hide(): void {
    this.#output.isShown = false;
  }

  [Symbol.dispose](): void {
    this.hide();
    this.#lines.close();
  }

  /** Empties the line that is typed. */
  #erase(): void {
    Object.assign(this.#lines, { line: "", cursor: 0 });
    if (!this.#output.isShown) return;
    if (this.#isDumb) this.#output.write("\n");
    this.prompt();
  }
}

/** The terminal, as long as what is typed is shown. */
class EchoOutput extends Writable {
  isShown = false;
  readonly #output: KeyboardOptions["output"];

  constructor(output: KeyboardOptions["output"]) {
    super();
    this.#output = output;
  }

  /** Readline wraps long lines by it. */
  get columns(): number {
    return this.#output.columns ?? 80;
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    if (this.isShown) this.#output.write(chunk);
    done();
  }
}

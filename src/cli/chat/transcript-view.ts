import { counted } from "../../base/text/counted.ts";
import { firstLine } from "../shell/layout.ts";
import { MarkdownStream } from "../transcript/markdown-lines.ts";
import { type Line, line, linesOf, span, wrapLine } from "../transcript/styled-line.ts";
import {
  changedCall,
  changesOf,
  firstLines,
  indentLines,
  isOver,
  type Json,
  outputOf,
  textOf,
  type ToolCall,
  wholeCall,
  wordsOf,
} from "../transcript/tool-content.ts";

interface TranscriptOptions {
  readonly width: () => number;
  /** Prints lines that are finished. */
  readonly print: (lines: readonly Line[]) => void;
}

/** Changed lines that are shown of a finished call, and rows of output of one that runs. */
const MOST_CHANGES = 24;
const LIVE_OUTPUT = 5;
const LIVE_CHARACTERS = 4_000;
/** Most rows that are printed when a folded block is opened. */
const MOST_OPENED = 5_000;
/** How many folded blocks can still be opened: the last ones. */
const MOST_FOLDED = 100;
const OPENS = " (Ctrl-O opens)";

/** Something that was printed as one line, and what it consists of. */
interface FoldedBlock {
  readonly head: Line;
  readonly lines: () => Line[];
}

/** A conversation on a screen: what is finished is printed, what goes on is shown by `live`. */
export class TranscriptView {
  readonly #options: TranscriptOptions;
  readonly #answer = new MarkdownStream();
  readonly #calls = new Map<string, ToolCall>();
  /** Calls of this turn that are over: what some agents tell of them later is not shown. */
  readonly #over = new Set<string>();
  readonly #folded: FoldedBlock[] = [];
  #thought = "";
  #said: { readonly id: unknown; readonly text: string } | undefined;
  #plan: readonly Json[] = [];
  /** The kind of the last line; an empty line separates different kinds. */
  #kind = "";

  constructor(options: TranscriptOptions) {
    this.#options = options;
  }

  /** The steps of the plan that are done, and all. */
  get plan(): { readonly done: number; readonly of: number } | undefined {
    if (this.#plan.length === 0) return undefined;
    const done = this.#plan.filter(({ status }) => status === "completed").length;
    return { done, of: this.#plan.length };
  }

  update(update: Json): void {
    const { sessionUpdate } = update;
    if (sessionUpdate !== "user_message_chunk") this.#endSaid();
    switch (sessionUpdate) {
      case "user_message_chunk":
        this.#prompted(update);
        return;
      case "agent_message_chunk":
        this.#endThought();
        this.#begin("answer");
        this.#options.print(this.#answer.write(textOf(update.content), this.#width));
        return;
      case "agent_thought_chunk":
        this.#endAnswer();
        this.#thought += textOf(update.content);
        return;
      case "tool_call":
      case "tool_call_update":
        this.#tool(update);
        return;
      case "plan":
        this.#plan = Array.isArray(update.entries) ? (update.entries as Json[]) : [];
        return;
      case "notice":
        this.note(`${wordsOf(update.title)} ${wordsOf(update.description)}`.trim(), "yellow");
        return;
      case "compaction_update":
        if (update.status === "completed") this.note("The conversation was summarised.", "dim");
        return;
      default:
    }
  }

  /** A line about the conversation itself. */
  note(text: string, ...styles: Parameters<typeof line>[1][]): void {
    this.#endText();
    this.#begin("note");
    this.#options.print(linesOf(text, ...styles).flatMap((each) => wrapLine(each, this.#width)));
  }

  /** The end of a turn: nothing goes on any more. */
  end(): void {
    this.#endText();
    for (const id of this.#calls.keys()) this.#finish(id, "failed");
    this.#over.clear();
    if (this.#plan.length > 0) {
      this.#begin("plan");
      this.#options.print(this.#planLines(Infinity));
      this.#plan = [];
    }
  }

  /** Prints all of the last thing that was shown as one line; called again, of the one before it. */
  open(): boolean {
    const folded = this.#folded.pop();
    if (folded === undefined) return false;
    this.#endText();
    this.#begin("opened");
    const more = ": `trunkline session replay` shows all";
    this.#options.print([folded.head, ...firstLines(folded.lines(), MOST_OPENED, more)]);
    return true;
  }

  /** The parts that are not finished yet, in at most that many rows. */
  live(most: number): Line[] {
    const lines: Line[] = [];
    const answer = this.#answer.live(this.#width);
    if (this.#said !== undefined) lines.push(...promptLines(this.#said.text, this.#width));
    lines.push(...answer);
    if (this.#thought !== "") {
      const thought = linesOf(this.#thought.trim(), "dim", "italic");
      const rows = thought.flatMap((each) => wrapLine(each, this.#width - 2, [span("  ")]));
      lines.push(...apart(lines), ...rows.slice(-LIVE_OUTPUT));
    }
    for (const call of this.#calls.values()) {
      lines.push([span("\u25cf ", "yellow"), span(firstLine(call.title))]);
      lines.push(
        ...indentLines(
          linesOf(outputOf(call).slice(-LIVE_CHARACTERS), "dim").slice(-LIVE_OUTPUT),
        ).filter((each) => each.some(({ text }) => text.trim() !== "")),
      );
    }
    if (this.#plan.length > 0) lines.push(...apart(lines), ...this.#planLines(8));
    const shown = lines.slice(-Math.max(1, most));
    return answer.length === 0 && lines.length > 0 && this.#kind !== "" ? [[], ...shown] : shown;
  }

  get #width(): number {
    return this.#options.width();
  }

  #prompted({ content, messageId }: Json): void {
    const text = textOf(content);
    if (this.#said !== undefined && this.#said.id === messageId) {
      this.#said = { id: messageId, text: `${this.#said.text} ${text}` };
      return;
    }
    this.#endText();
    this.#said = { id: messageId, text };
  }

  #tool(update: Json): void {
    const id = wordsOf(update.toolCallId);
    if (this.#over.has(id)) return;
    this.#endText();
    this.#calls.set(id, changedCall(this.#calls.get(id), update));
    if (isOver(update)) this.#finish(id, wordsOf(update.status));
  }

  #finish(id: string, status: string): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    this.#over.add(id);
    this.#begin("tool");
    const isGood = status === "completed";
    const output = outputOf(call);
    const count = output === "" ? 0 : output.split("\n").length;
    const changes = changesOf(call);
    const mark = isGood ? span("\u2713 ", "green") : span("\u2717 ", "red");
    const head = [mark, span(firstLine(call.title))];
    const why = isGood || output === "" ? "" : `: ${firstLine(output).slice(0, 200)}`;
    const isFolded = count > 1 || (isGood && count > 0) || changes.length > MOST_CHANGES;
    const says = count === 0 ? OPENS : ` \u00b7 ${counted(count, "line")}${OPENS}`;
    const shown = [...head, span(why, "red"), span(isFolded ? says : "", "dim")];
    this.#options.print([shown, ...indentLines(firstLines(changes, MOST_CHANGES, OPENS))]);
    if (isFolded) this.#fold({ head, lines: () => indentLines(wholeCall(call)) });
  }

  #fold(folded: FoldedBlock): void {
    this.#folded.push(folded);
    if (this.#folded.length > MOST_FOLDED) this.#folded.shift();
  }

  #endText(): void {
    this.#endSaid();
    this.#endAnswer();
    this.#endThought();
  }

  #endSaid(): void {
    const said = this.#said;
    if (said === undefined) return;
    this.#said = undefined;
    this.#kind = "";
    this.#options.print([[], ...promptLines(said.text, this.#width), []]);
  }

  #endAnswer(): void {
    this.#options.print(this.#answer.end(this.#width));
  }

  #endThought(): void {
    const thought = this.#thought.trim();
    this.#thought = "";
    if (thought === "") return;
    this.#begin("thought");
    const count = thought.split("\n").length;
    const head = [span("\u2026 ", "dim"), span(firstLine(thought).slice(0, 200), "dim", "italic")];
    const says = count > 1 ? ` \u00b7 ${counted(count, "line")}${OPENS}` : "";
    this.#options.print(wrapLine([...head, span(says, "dim")], this.#width, [span("  ")]));
    const lines = (): Line[] =>
      linesOf(thought).flatMap((each) =>
        wrapLine([span("  "), ...each], this.#width, [span("  ")]),
      );
    if (count > 1) this.#fold({ head: line("Thought:", "bold"), lines });
  }

  /** Another kind of thing begins: an empty line comes before it. */
  #begin(kind: string): void {
    if (this.#kind !== "" && this.#kind !== kind) this.#options.print([[]]);
    this.#kind = kind;
  }

  #planLines(most: number): Line[] {
    const rows = this.#plan.map(({ content, status }): Line => {
      const text = wordsOf(content);
      if (status === "completed") return [span("  \u2713 ", "green"), span(text, "dim")];
      if (status === "in_progress") return [span("  \u25b8 ", "yellow"), span(text, "bold")];
      return [span("  \u00b7 "), span(text)];
    });
    // The step that is being worked on is in view.
    const at = this.#plan.findIndex(({ status }) => status !== "completed");
    const from = Math.max(0, Math.min(at - 2, rows.length - most));
    return [line("Plan", "bold"), ...rows.slice(from, from + most)];
  }
}

/** An empty line where something is above. */
function apart(above: readonly Line[]): Line[] {
  return above.length === 0 ? [] : [[]];
}

/** What a person has said. */
export function promptLines(text: string, width: number): Line[] {
  const margin = span("> ", "cyan", "bold");
  return linesOf(text).flatMap((each, at) => {
    const lead = at === 0 ? margin : span("  ");
    const bold = each.map(({ text: said }) => span(said, "bold"));
    return wrapLine([lead, ...bold], width, [span("  ")]);
  });
}

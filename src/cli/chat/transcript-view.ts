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

export type TranscriptView = ReturnType<typeof transcriptView>;

/** A conversation on a screen: what is finished is printed, what goes on is shown by `live`. */
export function transcriptView({ print, width }: TranscriptOptions) {
  const answer = new MarkdownStream();
  const calls = new Map<string, ToolCall>();
  /** Calls of this turn that are over: what some agents tell of them later is not shown. */
  const over = new Set<string>();
  const blocks: FoldedBlock[] = [];
  let thinking = "";
  let prompt: { readonly id: unknown; readonly text: string } | undefined;
  let steps: readonly Json[] = [];
  /** The kind of the last line; an empty line separates different kinds. */
  let last = "";

  function update(update: Json): void {
    const { sessionUpdate } = update;
    if (sessionUpdate !== "user_message_chunk") endSaid();
    switch (sessionUpdate) {
      case "user_message_chunk":
        prompted(update);
        return;
      case "agent_message_chunk":
        endThought();
        begin("answer");
        print(answer.write(textOf(update.content), width()));
        return;
      case "agent_thought_chunk":
        endAnswer();
        thinking += textOf(update.content);
        return;
      case "tool_call":
      case "tool_call_update":
        tool(update);
        return;
      case "plan":
        steps = Array.isArray(update.entries) ? (update.entries as Json[]) : [];
        return;
      case "notice":
        note(`${wordsOf(update.title)} ${wordsOf(update.description)}`.trim(), "yellow");
        return;
      case "compaction_update":
        if (update.status === "completed") note("The conversation was summarised.", "dim");
        return;
      default:
    }
  }

  /** A line about the conversation itself. */
  function note(text: string, ...styles: Parameters<typeof line>[1][]): void {
    endText();
    begin("note");
    print(linesOf(text, ...styles).flatMap((each) => wrapLine(each, width())));
  }

  /** The end of a turn: nothing goes on any more. */
  function end(): void {
    endText();
    for (const id of calls.keys()) finish(id, "failed");
    over.clear();
    if (steps.length > 0) {
      begin("plan");
      print(planLines(Infinity));
      steps = [];
    }
  }

  /** Prints all of the last thing that was shown as one line; called again, of the one before it. */
  function open(): boolean {
    const folded = blocks.pop();
    if (folded === undefined) return false;
    endText();
    begin("opened");
    const more = ": `trunkline session replay` shows all";
    print([folded.head, ...firstLines(folded.lines(), MOST_OPENED, more)]);
    return true;
  }

  /** The parts that are not finished yet, in at most that many rows. */
  function live(most: number): Line[] {
    const lines: Line[] = [];
    const written = answer.live(width());
    if (prompt !== undefined) lines.push(...promptLines(prompt.text, width()));
    lines.push(...written);
    if (thinking !== "") {
      const thought = linesOf(thinking.trim(), "dim", "italic");
      const rows = thought.flatMap((each) => wrapLine(each, width() - 2, [span("  ")]));
      lines.push(...apart(lines), ...rows.slice(-LIVE_OUTPUT));
    }
    for (const call of calls.values()) {
      lines.push([span("\u25cf ", "yellow"), span(firstLine(call.title))]);
      lines.push(
        ...indentLines(
          linesOf(outputOf(call).slice(-LIVE_CHARACTERS), "dim").slice(-LIVE_OUTPUT),
        ).filter((each) => each.some(({ text }) => text.trim() !== "")),
      );
    }
    if (steps.length > 0) lines.push(...apart(lines), ...planLines(8));
    const shown = lines.slice(-Math.max(1, most));
    return written.length === 0 && lines.length > 0 && last !== "" ? [[], ...shown] : shown;
  }

  function prompted({ content, messageId }: Json): void {
    const text = textOf(content);
    if (prompt !== undefined && prompt.id === messageId) {
      prompt = { id: messageId, text: `${prompt.text} ${text}` };
      return;
    }
    endText();
    prompt = { id: messageId, text };
  }

  function tool(update: Json): void {
    const id = wordsOf(update.toolCallId);
    if (over.has(id)) return;
    endText();
    calls.set(id, changedCall(calls.get(id), update));
    if (isOver(update)) finish(id, wordsOf(update.status));
  }

  function finish(id: string, status: string): void {
    const call = calls.get(id);
    if (call === undefined) return;
    calls.delete(id);
    over.add(id);
    begin("tool");
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
    print([shown, ...indentLines(firstLines(changes, MOST_CHANGES, OPENS))]);
    if (isFolded) fold({ head, lines: () => indentLines(wholeCall(call)) });
  }

  function fold(folded: FoldedBlock): void {
    blocks.push(folded);
    if (blocks.length > MOST_FOLDED) blocks.shift();
  }

  function endText(): void {
    endSaid();
    endAnswer();
    endThought();
  }

  function endSaid(): void {
    const said = prompt;
    if (said === undefined) return;
    prompt = undefined;
    last = "";
    print([[], ...promptLines(said.text, width()), []]);
  }

  function endAnswer(): void {
    print(answer.end(width()));
  }

  function endThought(): void {
    const thought = thinking.trim();
    thinking = "";
    if (thought === "") return;
    begin("thought");
    const count = thought.split("\n").length;
    const head = [span("\u2026 ", "dim"), span(firstLine(thought).slice(0, 200), "dim", "italic")];
    const says = count > 1 ? ` \u00b7 ${counted(count, "line")}${OPENS}` : "";
    print(wrapLine([...head, span(says, "dim")], width(), [span("  ")]));
    const lines = (): Line[] =>
      linesOf(thought).flatMap((each) => wrapLine([span("  "), ...each], width(), [span("  ")]));
    if (count > 1) fold({ head: line("Thought:", "bold"), lines });
  }

  /** Another kind of thing begins: an empty line comes before it. */
  function begin(kind: string): void {
    if (last !== "" && last !== kind) print([[]]);
    last = kind;
  }

  function planLines(most: number): Line[] {
    const rows = steps.map(({ content, status }): Line => {
      const text = wordsOf(content);
      if (status === "completed") return [span("  \u2713 ", "green"), span(text, "dim")];
      if (status === "in_progress") return [span("  \u25b8 ", "yellow"), span(text, "bold")];
      return [span("  \u00b7 "), span(text)];
    });
    // The step that is being worked on is in view.
    const at = steps.findIndex(({ status }) => status !== "completed");
    const from = Math.max(0, Math.min(at - 2, rows.length - most));
    return [line("Plan", "bold"), ...rows.slice(from, from + most)];
  }

  return {
    ...{ update, note, end, open, live },
    /** The steps of the plan that are done, and all. */
    get plan(): { readonly done: number; readonly of: number } | undefined {
      if (steps.length === 0) return undefined;
      const done = steps.filter(({ status }) => status === "completed").length;
      return { done, of: steps.length };
    },
  };
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

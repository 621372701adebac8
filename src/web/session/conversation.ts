import type { LogEvent, PlanEntry } from "../../server/dashboard/session-api.ts";

type Fields = Readonly<Record<string, unknown>>;

/** One entry of a conversation, as it is shown. A change makes a new object. */
export type Entry = TextEntry | ToolEntry | PermissionEntry | NoteEntry;

interface EntryBase {
  /** Number of the first event that it was made of. */
  readonly seq: number;
  readonly at: number;
}
export interface TextEntry extends EntryBase {
  readonly kind: "prompt" | "message" | "thought";
  readonly text: string;
  readonly messageId?: string;
  /** Of a prompt: who sent it. */
  readonly by?: string;
}
export interface ToolEntry extends EntryBase {
  readonly kind: "tool";
  readonly toolCallId: string;
  /** The fields of the tool call, as ACP has them, after all updates. */
  readonly call: Fields;
  readonly until: number;
}
export interface PermissionEntry extends EntryBase {
  readonly kind: "permission";
  readonly requestId: string;
  readonly title?: string;
  /** The chosen option or "cancelled"; absent until it is answered. */
  readonly answer?: string;
  readonly by?: string;
}
export interface NoteEntry extends EntryBase {
  readonly kind: "note";
  readonly level: "info" | "warning" | "error";
  readonly text: string;
}

/**
 * The conversation as entries, built from the events of a log. Events are added in pages at either end,
 * because a long session is read from its end. Adding a page takes time in proportion to its size.
 */
export class Conversation {
  entries: readonly Entry[] = [];
  plan: readonly PlanEntry[] | undefined;
  usage: { readonly used: number; readonly size: number } | undefined;
  commands: readonly { readonly name: string; readonly description: string }[] | undefined;
  /** Numbers of the first and the last event that were added. */
  first: number | undefined;
  last = 0;
  readonly #tools = new Map<string, number>();
  readonly #permissions = new Map<string, number>();
  /** The number of entries that were prepended: indexes in the maps are off by it. */
  #shift = 0;

  /** Adds later events, and skips those that were added before. */
  append(events: readonly LogEvent[]): void {
    const entries = [...this.entries];
    for (const event of events) {
      if (event.seq <= this.last) continue;
      this.first ??= event.seq;
      this.last = event.seq;
      this.#add(entries, event);
    }
    this.entries = entries;
  }

  /** Adds earlier events. Returns how many entries were prepended. */
  prepend(events: readonly LogEvent[]): number {
    const { first } = this;
    const earlier = new Conversation();
    earlier.append(first === undefined ? events : events.filter(({ seq }) => seq < first));
    if (earlier.first === undefined) return 0;
    const front = [...earlier.entries];
    const rest = [...this.entries];
    const taken = new Set<number>();
    this.#join(front, rest, taken, this.#tools, earlier.#tools);
    this.#join(front, rest, taken, this.#permissions, earlier.#permissions);
    const [text] = rest;
    const before = front.at(-1);
    if (before !== undefined && text !== undefined && !taken.has(0) && continues(before, text)) {
      front[front.length - 1] = { ...before, text: before.text + (text as TextEntry).text };
      taken.add(0);
    }
    if (taken.size > 0) this.#drop(taken);
    this.#shift += front.length;
    for (const [id, index] of earlier.#tools) this.#tools.set(id, index - this.#shift);
    for (const [id, index] of earlier.#permissions) this.#permissions.set(id, index - this.#shift);
    this.entries = [...front, ...rest.filter((_, index) => !taken.has(index))];
    this.first = earlier.first;
    this.plan ??= earlier.plan;
    this.usage ??= earlier.usage;
    this.commands ??= earlier.commands;
    return front.length - taken.size;
  }

  /** Merges updates on this page into the entry of their tool call on an earlier page. */
  #join(
    front: Entry[],
    rest: readonly Entry[],
    taken: Set<number>,
    mine: Map<string, number>,
    earlier: ReadonlyMap<string, number>,
  ): void {
    for (const [id, at] of earlier) {
      const index = mine.get(id);
      if (index === undefined) continue;
      const later = rest[index + this.#shift];
      const entry = front[at];
      if (entry === undefined || later === undefined) continue;
      if (entry.kind === "tool" && later.kind === "tool") {
        front[at] = { ...entry, call: { ...entry.call, ...later.call }, until: later.until };
      } else {
        front[at] = { ...entry, ...later, seq: entry.seq, at: entry.at };
      }
      taken.add(index + this.#shift);
    }
  }

  #drop(taken: ReadonlySet<number>): void {
    for (const map of [this.#tools, this.#permissions]) {
      for (const [id, at] of map) {
        const index = at + this.#shift;
        if (taken.has(index)) map.delete(id);
        else map.set(id, at - [...taken].filter((other) => other < index).length);
      }
    }
  }

  #add(entries: Entry[], { seq, at, message }: LogEvent): void {
    const event = message as Fields;
    switch (event["kind"]) {
      case "prompt": {
        const text = textOf(event["prompt"]);
        entries.push({ kind: "prompt", seq, at, text, by: wordIn(event["by"]) });
        break;
      }
      case "update":
        this.#update(entries, seq, at, event["update"] as Fields);
        break;
      case "permission": {
        const requestId = String(event["requestId"]);
        const { toolCall } = (event["request"] ?? {}) as { toolCall?: Fields };
        const title = titleOf(toolCall ?? {});
        this.#permissions.set(requestId, entries.length - this.#shift);
        entries.push({
          ...{ kind: "permission", seq, at, requestId },
          ...(title === undefined ? {} : { title }),
        });
        break;
      }
      case "answer":
        this.#answer(entries, seq, at, event);
        break;
      case "end":
        if (event["stopReason"] !== "end_turn") {
          const why = typeof event["error"] === "string" ? `: ${event["error"]}` : "";
          const text = `Turn ended: ${String(event["stopReason"]).replaceAll("_", " ")}${why}`;
          const level = event["stopReason"] === "cancelled" ? "info" : "error";
          entries.push({ kind: "note", seq, at, level, text });
        }
        break;
      default:
    }
  }

  #update(entries: Entry[], seq: number, at: number, update: Fields): void {
    const kind = wordIn(update["sessionUpdate"]);
    const child = subagentOf(update);
    if (child !== undefined && !kind.startsWith("tool_call")) {
      if (kind !== "agent_message_chunk") return undefined;
      const _meta = { terminal_output_delta: { data: textOf([update["content"]]) } };
      return this.#tool(entries, seq, at, { toolCallId: `subagent:${child}`, _meta });
    }
    switch (kind) {
      case "agent_message_chunk":
        return this.#chunk(entries, "message", seq, at, update);
      case "agent_thought_chunk":
        return this.#chunk(entries, "thought", seq, at, update);
      case "user_message_chunk":
        return this.#chunk(entries, "prompt", seq, at, update);
      case "tool_call":
      case "tool_call_update":
        return this.#tool(entries, seq, at, update);
      case "plan":
        this.plan = update["entries"] as readonly PlanEntry[];
        return undefined;
      case "plan_update": {
        const { entries: steps, content, uri } = (update["plan"] ?? {}) as Fields;
        const one = { content: wordIn(content ?? uri), priority: "medium", status: "in_progress" };
        this.plan = (Array.isArray(steps) ? steps : [one]) as readonly PlanEntry[];
        return undefined;
      }
      case "plan_removed":
        this.plan = [];
        return undefined;
      case "subagent_update": {
        const { sessionId, title, state } = update;
        const { state: activity } = (state ?? {}) as Fields;
        const status = activity === "idle" ? "completed" : "in_progress";
        return this.#tool(entries, seq, at, {
          ...{ toolCallId: `subagent:${wordIn(sessionId)}`, kind: "think" },
          ...(title === undefined ? {} : { title }),
          ...(activity === undefined ? {} : { status }),
        });
      }
      case "usage_update":
        this.usage = { used: Number(update["used"]), size: Number(update["size"]) };
        return undefined;
      case "available_commands_update":
        this.commands = update["availableCommands"] as typeof this.commands;
        return undefined;
      case "notice": {
        const { severity, title, description } = update;
        const text = [title, description].filter((part) => typeof part === "string").join(" — ");
        const level = severity === "error" || severity === "warning" ? severity : "info";
        entries.push({ kind: "note", seq, at, level, text });
        return undefined;
      }
      case "compaction_update":
        if (update["status"] !== "completed") return undefined;
        entries.push({
          ...{ kind: "note", seq, at, level: "info" },
          text: "Earlier messages were summarised",
        });
        return undefined;
      default:
        return undefined;
    }
  }

  #chunk(
    entries: Entry[],
    kind: TextEntry["kind"],
    seq: number,
    at: number,
    { content, messageId }: Fields,
  ): void {
    const text = textOf([content]);
    const id = typeof messageId === "string" ? { messageId } : {};
    const entry: TextEntry = { kind, seq, at, text, ...id };
    const before = entries.at(-1);
    if (before !== undefined && continues(before, entry)) {
      entries[entries.length - 1] = { ...before, text: before.text + text };
    } else {
      entries.push(entry);
    }
  }

  #tool(entries: Entry[], seq: number, at: number, update: Fields): void {
    const { sessionUpdate: _, toolCallId, ...fields } = update;
    const id = String(toolCallId);
    // ACP tool-calls: an update has only the fields that change; null leaves a field as it is.
    const call = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
    const index = this.#tools.get(id);
    const known = index === undefined ? undefined : entries[index + this.#shift];
    const piece = pieceOf(fields);
    const before = known?.kind === "tool" ? known.call : {};
    const output = piece === undefined ? {} : { output: wordIn(before["output"]) + piece };
    const all = { ...before, ...call, ...output };
    if (index !== undefined && known?.kind === "tool") {
      entries[index + this.#shift] = { ...known, call: all, until: at };
    } else {
      this.#tools.set(id, entries.length - this.#shift);
      entries.push({ kind: "tool", seq, at, toolCallId: id, call: all, until: at });
    }
  }

  #answer(entries: Entry[], seq: number, at: number, event: Fields): void {
    const requestId = String(event["requestId"]);
    const outcome = event["outcome"] as { outcome: string; kind?: string; optionId?: string };
    const answer = outcome.outcome === "selected" ? (outcome.kind ?? "selected") : "cancelled";
    const by = wordIn(event["by"]);
    const index = this.#permissions.get(requestId);
    const known = index === undefined ? undefined : entries[index + this.#shift];
    if (index !== undefined && known?.kind === "permission") {
      entries[index + this.#shift] = { ...known, answer, by };
    } else {
      this.#permissions.set(requestId, entries.length - this.#shift);
      entries.push({ kind: "permission", seq, at, requestId, answer, by });
    }
  }
}

/** The subagent that an update belongs to. */
function subagentOf({ _meta }: Fields): string | undefined {
  const { trunkline } = (_meta ?? {}) as { readonly trunkline?: Fields };
  const id = trunkline?.["subagent"];
  return typeof id === "string" ? id : undefined;
}

/** A piece of what the command of a tool call has put out. */
function pieceOf({ _meta }: Fields): string | undefined {
  const { terminal_output_delta: piece } = (_meta ?? {}) as Record<string, Fields | undefined>;
  const data = piece?.["data"];
  return typeof data === "string" ? data : undefined;
}

/** Whether the text of an entry belongs to the message before it. */
function continues(before: Entry, entry: Entry): before is TextEntry {
  if (before.kind !== entry.kind) return false;
  if (before.kind !== "message" && before.kind !== "thought" && before.kind !== "prompt")
    return false;
  // A logged prompt is complete. Only an imported one comes in pieces, which are joined.
  if (before.by !== undefined) return false;
  return before.messageId === (entry as TextEntry).messageId;
}

/** The title of a tool call. It is shown as code, so the marks of a title that is all code are left out. */
export function titleOf({ title }: Fields): string | undefined {
  return typeof title === "string" ? title.replace(/^`([^`]+)`$/, "$1") : undefined;
}

/** A text member of a message that was not validated. */
export function wordIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The text of content blocks. Other blocks are shown by their type. */
export function textOf(blocks: unknown): string {
  if (!Array.isArray(blocks)) return "";
  return (blocks as Fields[])
    .map((block) => {
      if (block?.["type"] === "text") return wordIn(block["text"]);
      const resource = block?.["resource"] as Fields | undefined;
      const name = block?.["name"] ?? block?.["uri"] ?? resource?.["uri"];
      if (typeof name === "string") return `[${name}]`;
      const type = wordIn(block?.["type"]);
      return type === "" ? "" : `[${type}]`;
    })
    .join("");
}

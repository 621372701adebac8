import { stripVTControlCharacters } from "node:util";

import { fenceFor } from "../../base/text/fence.ts";
import type { SessionUpdate } from "../../session/agent.ts";
import type { ClientCapabilities, ShownUpdate } from "../../session/client/client.ts";
import { isSubagentId, readSubagentId, subagentOf } from "../../session/subagent.ts";
import { type JsonObject as Fields, listOf, objectOf as fieldsOf } from "./methods.ts";

/** The capabilities that decide in which form a client gets updates. */
export type FormCapabilities = Pick<
  ClientCapabilities,
  "notices" | "compaction" | "plans" | "subagents" | "booleans" | "terminals"
>;

/** An update as one client gets it, under the id of the session or of one of its subagents. */
export interface FormedUpdate {
  readonly sessionId: string;
  readonly kind: string;
  readonly text: string;
}

interface Form {
  /** A client that announced this capability gets the update as it is. */
  readonly needs: keyof FormCapabilities;
  /** What other clients get instead. */
  readonly form: (update: SessionUpdate, state: FormState) => readonly SessionUpdate[];
}

/**
 * The log has every update in the richest form that agents send. This table translates updates for clients
 * that have not announced them; other kinds of updates are the same for all.
 */
export const FORMS: Readonly<Record<string, Form>> = {
  notice: { needs: "notices", form: noticeAsText },
  compaction_update: { needs: "compaction", form: compactionAsTool },
  // The end of the compaction shows all of the summary.
  compaction_summary_chunk: {
    needs: "compaction",
    form: ({ compactionId, content }, state) => {
      state.append(`compaction:${String(compactionId)}`, textOf(content));
      return [];
    },
  },
  plan_update: { needs: "plans", form: planAsEntries },
  plan_removed: {
    needs: "plans",
    form: ({ planId }, state) =>
      state.said.delete(`plan:${String(planId)}`) ? [] : [{ sessionUpdate: "plan", entries: [] }],
  },
  subagent_update: { needs: "subagents", form: subagentAsTool },
  session_message: { needs: "subagents", form: messageAsTool },
  session_message_chunk: {
    needs: "subagents",
    form: ({ messageId, content }, state) => {
      const child = state.senders.get(String(messageId));
      if (child !== undefined) state.append(child, textOf(content));
      return [];
    },
  },
  config_option_update: {
    needs: "booleans",
    form: (update) => [{ ...update, configOptions: withoutBooleans(update.configOptions) }],
  },
  tool_call: { needs: "terminals", form: terminalForm },
  tool_call_update: { needs: "terminals", form: terminalForm },
};

/** Characters of a command's output that a client without terminals is shown: its end. */
const MOST_OUTPUT = 32 * 1024;
/** Milliseconds between two updates with the output of a command as text. */
const SHOW_EVERY = 500;

/** A command of the agent, whose output comes in pieces. */
interface CommandOutput {
  readonly terminalId: string;
  command?: string | undefined;
  output: string;
  content: readonly Fields[];
  shownAt: number;
  /** It has output that was not shown yet. */
  isBehind: boolean;
}

/** What one client was sent of one session, as far as later updates depend on it. */
class FormState {
  readonly terminals: FormCapabilities["terminals"];
  /** By the id of the tool call. */
  readonly commands = new Map<string, CommandOutput>();
  /** Texts that come in pieces: of plans, summaries and subagents. */
  readonly said = new Map<string, string>();
  /** Subagents that have sent a message, by its id. */
  readonly senders = new Map<string, string>();
  readonly #begun = new Set<string>();

  constructor(terminals: FormCapabilities["terminals"]) {
    this.terminals = terminals;
  }

  /** Whether this is the first call with this id. */
  begins(id: string): boolean {
    if (this.#begun.has(id)) return false;
    this.#begun.add(id);
    return true;
  }

  append(id: string, text: string): void {
    this.said.set(id, `${this.said.get(id) ?? ""}${text}`.slice(-MOST_OUTPUT));
  }
}

/** Gives one client the updates of one session in the richest form that it has announced. */
export type UpdateForms = ReturnType<typeof updateForms>;

export function updateForms(
  capabilities: FormCapabilities,
  showLate?: (updates: readonly FormedUpdate[]) => void,
) {
  const state = new FormState(capabilities.terminals);
  /** By the id of the tool call whose output they show. */
  const timers = new Map<string, NodeJS.Timeout>();
  const formedOf = (sessionId: string, update: SessionUpdate): FormedUpdate[] => {
    return updates(sessionId, update).map(([id, each]) => ({
      sessionId: id,
      kind: each.sessionUpdate,
      text: JSON.stringify(each),
    }));
  };
  /** Schedules the output of a command that came too soon after the last update. */
  const lookAgain = (sessionId: string, { toolCallId, _meta }: SessionUpdate): void => {
    const id = String(toolCallId);
    const isBehind = (): boolean => state.commands.get(id)?.isBehind === true;
    if (showLate === undefined || timers.has(id) || !isBehind()) return;
    const { trunkline } = fieldsOf(_meta);
    const meta = trunkline === undefined ? {} : { _meta: { trunkline } };
    const again = { sessionUpdate: "tool_call_update", toolCallId, ...meta };
    const look = (): void => {
      timers.delete(id);
      if (isBehind()) showLate?.(formedOf(sessionId, again));
      lookAgain(sessionId, again);
    };
    timers.set(id, setTimeout(look, SHOW_EVERY).unref());
  };
  /** The updates for an update, each with the id of the session that it is shown in. */
  const updates = (
    sessionId: string,
    update: SessionUpdate,
  ): (readonly [string, SessionUpdate])[] => {
    const child = subagentOf(update);
    const isTheirs = child !== undefined && readSubagentId(child).session === sessionId;
    const { subagents } = capabilities;
    if (isTheirs && !subagents) {
      return childAsTool(child, update, state)
        .flatMap((each) => form(each))
        .map((each) => [sessionId, each]);
    }
    if (!isTheirs) {
      const { sessionUpdate, sessionId: announced } = update;
      if (subagents && sessionUpdate === "subagent_update") state.begins(String(announced));
      return form(update).map((each) => [sessionId, each]);
    }
    const own = form(withoutMark(update)).map((each) => [child, each] as const);
    if (!state.begins(child)) return own;
    // The client joined after the subagent was announced.
    return [[sessionId, { sessionUpdate: "subagent_update", sessionId: child }], ...own];
  };
  const form = (update: SessionUpdate): readonly SessionUpdate[] => {
    const form = formFor(update.sessionUpdate);
    return form === undefined ? [update] : form.form(update, state);
  };
  /** How an update of that kind is translated; undefined where the client gets it as it is. */
  const formFor = (kind: string): Form | undefined => {
    const form = Object.hasOwn(FORMS, kind) ? FORMS[kind] : undefined;
    if (form === undefined) return undefined;
    const announced = capabilities[form.needs];
    return announced === true || announced === "delta" ? undefined : form;
  };
  /** Most updates are the same for every client: their text is not parsed. */
  const mayDiffer = (kind: string, text: string): boolean => {
    if (kind === "subagent_update" || text.includes('"subagent":')) return true;
    if (formFor(kind) === undefined) return false;
    if (kind.startsWith("tool_call")) {
      return state.commands.size > 0 || text.includes('"terminal_');
    }
    return kind !== "config_option_update" || text.includes('"boolean"');
  };
  return {
    [Symbol.dispose](): void {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
    /** The messages for an update of the log, none or several. */
    of(sessionId: string, { kind, text }: Pick<ShownUpdate, "kind" | "text">): FormedUpdate[] {
      if (!mayDiffer(kind, text)) return [{ sessionId, kind, text }];
      const update = JSON.parse(text) as SessionUpdate;
      const formed = formedOf(sessionId, update);
      lookAgain(sessionId, update);
      return formed;
    },
    updates,
  };
}

/** Updates for whoever reads a log from its beginning and shows only text, tool calls and notices. */
export class PlainForms {
  readonly #forms = updateForms({
    ...{ notices: true, compaction: true, plans: false, subagents: false, booleans: true },
    terminals: "text",
  });

  of(update: SessionUpdate): SessionUpdate[] {
    const { session } = readSubagentId(subagentOf(update) ?? "");
    return this.#forms.updates(session, update).map(([, each]) => each);
  }
}

/** Config options for a client that knows no booleans. */
export function withoutBooleans(options: unknown): readonly Fields[] {
  return listOf(options).map((option) =>
    option.type === "boolean"
      ? {
          ...option,
          type: "select",
          currentValue: option.currentValue === true ? "on" : "off",
          options: [
            { value: "on", name: "On" },
            { value: "off", name: "Off" },
          ],
        }
      : option,
  );
}

function noticeAsText({ title, description, _meta }: SessionUpdate): SessionUpdate[] {
  const more = wordOf(description);
  const says = more === "" ? `**${wordOf(title)}**` : `**${wordOf(title)}:** ${more}`;
  return [textChunk(`\n\n${says}\n\n`, { ...fieldsOf(_meta), "trunkline/aside": true })];
}

function compactionAsTool(update: SessionUpdate, state: FormState): SessionUpdate[] {
  const { compactionId, status, summary, error, _meta } = update;
  const id = `compaction:${String(compactionId)}`;
  const text = wordOf(error) || listOf(summary).map(textOf).join("") || state.said.get(id);
  const call = {
    toolCallId: id,
    status,
    ...(status === "in_progress" || !text ? {} : { content: [textPart(text)] }),
    ...(_meta === undefined ? {} : { _meta }),
  };
  const title = "Compacting the conversation";
  return state.begins(id)
    ? [{ sessionUpdate: "tool_call", title, kind: "think", ...call }]
    : [{ sessionUpdate: "tool_call_update", ...call }];
}

function planAsEntries({ plan, _meta }: SessionUpdate, state: FormState): SessionUpdate[] {
  const { type, planId, entries, content, uri } = fieldsOf(plan);
  const meta = _meta === undefined ? {} : { _meta };
  if (type === "items") return [{ sessionUpdate: "plan", entries, ...meta }];
  const text = wordOf(content) || (wordOf(uri) && `The plan is in ${wordOf(uri)}.`);
  // A plan that is being written is sent again and again, longer each time.
  const id = `plan:${String(planId)}`;
  const before = state.said.get(id) ?? "";
  state.said.set(id, text);
  if (text === before) return [];
  return [textChunk(text.startsWith(before) ? text.slice(before.length) : `\n\n${text}`, _meta)];
}

function toolOf(child: string): string {
  return `subagent:${child}`;
}

const BROKEN_OFF: ReadonlySet<unknown> = new Set(["error", "cancelled", "refusal"]);

function subagentAsTool(update: SessionUpdate, state: FormState): SessionUpdate[] {
  const { sessionId, title, description, state: activity, _meta } = update;
  const child = String(sessionId);
  const { state: name, stopReason } = fieldsOf(activity);
  const isIdle = name === "idle";
  const ended = BROKEN_OFF.has(stopReason) ? "failed" : "completed";
  const said = state.said.get(child);
  const call = {
    toolCallId: toolOf(child),
    ...(typeof title === "string" ? { title } : {}),
    ...(name === undefined ? {} : { status: isIdle ? ended : "in_progress" }),
    ...(isIdle && said ? { content: [textPart(said)] } : {}),
  };
  const meta = _meta === undefined ? {} : { _meta };
  if (state.begins(child)) {
    const named = { title: description ?? "Subagent", kind: "think", status: "in_progress" };
    return [{ sessionUpdate: "tool_call", ...named, ...call, ...meta }];
  }
  if (Object.keys(call).length === 1) return [];
  return [{ sessionUpdate: "tool_call_update", ...call, ...meta }];
}

/** A message between a session and its subagent: what that is to do, or its answer. */
function messageAsTool(update: SessionUpdate, state: FormState): SessionUpdate[] {
  const { messageId, senderSessionId, recipientSessionId, content } = update;
  const text = listOf(content).map(textOf).join("");
  if (isSubagentId(senderSessionId)) {
    state.senders.set(String(messageId), senderSessionId);
    if (text === "") return [];
    state.said.set(senderSessionId, text);
    const toolCallId = toolOf(senderSessionId);
    return [{ sessionUpdate: "tool_call_update", toolCallId, content: [textPart(text)] }];
  }
  if (!isSubagentId(recipientSessionId) || text === "") return [];
  const toolCallId = toolOf(recipientSessionId);
  return [{ sessionUpdate: "tool_call_update", toolCallId, rawInput: { prompt: text } }];
}

/** What a client without subagents sees of their sessions: the tool calls, and at the end what they said. */
function childAsTool(child: string, marked: SessionUpdate, state: FormState): SessionUpdate[] {
  const announced: readonly SessionUpdate[] = state.begins(child)
    ? subagentAsTool({ sessionUpdate: "subagent_update", sessionId: child }, new FormState("text"))
    : [];
  const update = withoutMark(marked);
  const kind = update.sessionUpdate;
  if (kind === "agent_message_chunk") state.append(child, textOf(update.content));
  if (kind !== "subagent_update" && !kind.startsWith("tool_call")) return [...announced];
  const meta = fieldsOf(update._meta);
  const trunkline = { ...fieldsOf(meta.trunkline), parentToolCallId: toolOf(child) };
  return [...announced, { ...update, _meta: { ...meta, trunkline } }];
}

function withoutMark(update: SessionUpdate): SessionUpdate {
  const { trunkline, ...meta } = fieldsOf(update._meta);
  const { subagent: _, ...ours } = fieldsOf(trunkline);
  return withMeta(update, Object.keys(ours).length === 0 ? meta : { ...meta, trunkline: ours });
}

function withMeta({ _meta, ...update }: SessionUpdate, meta: Fields): SessionUpdate {
  const more = Object.keys(meta).length === 0 ? {} : { _meta: meta };
  return { ...(update as SessionUpdate), ...more };
}

/** Whether an update is empty. */
function isBare(update: SessionUpdate): boolean {
  return Object.keys(update).every((key) => key === "sessionUpdate" || key === "toolCallId");
}

/** The output of an agent's command, which `_meta` of its tool call carries in pieces. */
function terminalForm(update: SessionUpdate, state: FormState): readonly SessionUpdate[] {
  const id = String(update.toolCallId);
  const { terminal_info, terminal_output_delta, terminal_output, terminal_exit, ...meta } =
    fieldsOf(update._meta);
  const piece = terminal_output_delta ?? terminal_output;
  const carrier = terminal_info ?? piece ?? terminal_exit;
  let command = state.commands.get(id);
  if (carrier === undefined && command === undefined) return [update];
  if (state.terminals === "output") {
    if (terminal_output_delta === undefined) return [update];
    const { terminal_output_delta: _, ...others } = fieldsOf(update._meta);
    return [{ ...update, _meta: { ...others, terminal_output: piece } }];
  }
  if (command === undefined) {
    const terminalId = wordOf(fieldsOf(carrier).terminal_id) || id;
    command = { terminalId, output: "", content: [TERMINAL], shownAt: 0, isBehind: false };
    state.commands.set(id, command);
  }
  const { data } = fieldsOf(piece);
  const said = typeof data === "string" ? data : "";
  const rest = withMeta(update, meta);
  const isOver =
    terminal_exit !== undefined || update.status === "completed" || update.status === "failed";
  if (isOver) state.commands.delete(id);
  const found = { rest, said, info: terminal_info, exit: terminal_exit, isOver };
  return state.terminals === "updates" ? asTerminalUpdates(command, found) : asText(command, found);
}

interface CommandUpdate {
  /** The update without what it carries of the command. */
  readonly rest: SessionUpdate;
  /** A piece of the output. */
  readonly said: string;
  readonly info: unknown;
  readonly exit: unknown;
  readonly isOver: boolean;
}

const TERMINAL = { type: "terminal" };

function asText(command: CommandOutput, { rest, said, isOver }: CommandUpdate): SessionUpdate[] {
  command.output = (command.output + said).slice(-MOST_OUTPUT);
  const { content } = rest;
  if (Array.isArray(content)) {
    const parts = listOf(content);
    command.content = parts.some(({ type }) => type === "terminal") ? parts : [...parts, TERMINAL];
  }
  const now = performance.now();
  command.isBehind ||= said !== "";
  const isDue = command.isBehind && now - command.shownAt >= SHOW_EVERY;
  const shows = isDue || isOver || Array.isArray(content);
  if (isBare(rest) && !shows) return [];
  if (!shows) return [rest];
  command.shownAt = now;
  command.isBehind = false;
  const text = stripVTControlCharacters(command.output).trimEnd();
  const fence = fenceFor(text);
  const shown = text === "" ? [] : [textPart(`${fence}console\n${text}\n${fence}`)];
  const parts = command.content.flatMap((part) => (part.type === "terminal" ? shown : [part]));
  return [{ ...rest, content: parts }];
}

/** ACP version 2, Tool Calls § Terminals: a terminal has updates of its own. */
function asTerminalUpdates(
  command: CommandOutput,
  { rest, said, info, exit }: CommandUpdate,
): SessionUpdate[] {
  const { terminalId } = command;
  const { command: line } = fieldsOf(rest.rawInput);
  const { cwd } = fieldsOf(info);
  const { exit_code: exitCode, signal } = fieldsOf(exit);
  const isNew = typeof line === "string" && line !== command.command;
  if (isNew) command.command = line;
  const data = Buffer.from(said).toString("base64");
  const about = {
    ...(isNew ? { command: line } : {}),
    ...(typeof cwd === "string" ? { cwd } : {}),
    ...(exit === undefined
      ? {}
      : { exitStatus: { exitCode: exitCode ?? null, signal: signal ?? null } }),
  };
  const hasNews = info !== undefined || Object.keys(about).length > 0;
  const output = { sessionUpdate: "terminal_output_chunk", terminalId, data };
  return [
    // The end of a command comes after its last output.
    ...(said !== "" && exit !== undefined ? [output] : []),
    ...(hasNews ? [{ sessionUpdate: "terminal_update", terminalId, ...about }] : []),
    ...(said !== "" && exit === undefined ? [output] : []),
    ...(isBare(rest) ? [] : [rest]),
  ];
}

function textChunk(text: string, _meta: unknown): SessionUpdate {
  const content = { type: "text", text };
  const meta = _meta === undefined ? {} : { _meta };
  return { sessionUpdate: "agent_message_chunk", content, ...meta };
}

function textPart(text: string): Fields {
  return { type: "content", content: { type: "text", text } };
}

function textOf(content: unknown): string {
  return wordOf(fieldsOf(content).text);
}

function wordOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

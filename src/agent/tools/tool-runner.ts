import { isObject } from "../../base/check.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import { diskWords, TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { fenceFor } from "../../base/text/fence.ts";
import { mask, maskWhole, maskWords } from "../../base/text/mask.ts";
import { suggest } from "../../base/text/suggest.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { carrierOf } from "../../base/trace.ts";
import { untilAborted } from "../../base/abort.ts";
import { ACP } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { Turn } from "../../session/agent.ts";
import { cut } from "../../session/client/fit-update.ts";
import { type PermissionOption, subjectWords } from "../../session/permission/permission.ts";
import { argumentProblem } from "../../tool/schema/plain-schema.ts";
import type { Arguments, Tool, JsonSchema } from "../../tool/tool.ts";
import type { HookRun } from "../../hooks/hooks.ts";
import { hooksMeta, type TurnHooks, withWords } from "../hooks/session-hooks.ts";
import type { Mode } from "../modes.ts";
import type { Speaker } from "../turn/speaker.ts";
import { Countdown } from "./countdown.ts";
import { untilContinued } from "../turn/until-continued.ts";
import {
  type AgentTool,
  type Choice,
  type ConsentRequest,
  type Location,
  CallRejectedError,
  type ShownContent,
  textContent,
  type ToolAnswer,
  type ToolWork,
} from "./agent-tool.ts";
import type { ToolGroups } from "./tool-groups.ts";

/** What a tool gets to work with, whatever the call. */
type ToolServices = Pick<
  ToolWork,
  "files" | "log" | "sessionId" | "actsAs" | "sandbox" | "diagnostics" | "background"
>;

interface ToolRunnerOptions extends ToolServices {
  readonly turn: Turn;
  readonly speaker: Speaker;
  readonly mode: () => Mode;
  readonly tools: ReadonlyMap<string, AgentTool>;
  readonly groups: ToolGroups;
  /** Milliseconds for tools that have no timeout of their own. */
  readonly timeout: number;
  /** What cancels one of the calls that are running, by its id. */
  readonly running: Map<string, AbortController>;
  readonly hooks?: TurnHooks | undefined;
  /** Told about each file that a call was about. */
  readonly workedOn?: ((path: string) => Promise<void>) | undefined;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  /** Why the arguments of the model cannot be read. */
  readonly problem?: string | undefined;
}

type ShownToolCall = Readonly<Record<string, unknown>> & {
  readonly content?: readonly ShownContent[];
};

/** How a call has ended, beside its answer. */
interface CallEnd {
  readonly code: number | undefined;
  readonly isCancelled: boolean;
  readonly runs: readonly HookRun[];
}

/** A person has cancelled one call; the turn goes on. */
export class CallCancelled extends TrunklineError {
  constructor() {
    super("cancelled", "The person cancelled this call. Go on without it, or ask what they want.");
  }
}

/** The options of a permission request. The label of "always" says what it allows, and in which folder. */
export function optionsFor(
  { subject, covers }: ConsentRequest,
  folder: string,
): PermissionOption[] {
  const words = covers ?? (subject === undefined ? "" : subjectWords(subject));
  const always = `Always allow in ${visibleLine(folder)}: ${visibleLine(words)}`;
  return [
    { optionId: "allow", name: "Allow", kind: "allow_once" },
    ...(subject === undefined
      ? []
      : [{ optionId: "always", name: always, kind: "allow_always" } as const]),
    { optionId: "reject", name: "Reject", kind: "reject_once" },
  ];
}

/** Calls tools in a turn: validates arguments, asks for consent, applies the timeout, shows the call. */
export class ToolRunner {
  readonly #options: ToolRunnerOptions;

  constructor(options: ToolRunnerOptions) {
    this.#options = options;
  }

  get tools(): ReadonlyMap<string, AgentTool> {
    return this.#options.tools;
  }

  /** The tools that the current mode allows, of the groups that are open. */
  offered(): AgentTool[] {
    const { tools, mode, groups } = this.#options;
    return [...tools.values()].filter((tool) => {
      const { fits } = tool;
      return mode().may.includes(tool.need) && groups.isOffered(tool) && fits?.() !== false;
    });
  }

  /**
   * Calls the tools of one answer, and returns their answers in order. Neighbours that only read run
   * together; all others one after the other, since each may depend on what the one before it did.
   */
  async *callAll<Call extends ToolCall>(
    calls: readonly Call[],
  ): AsyncGenerator<readonly [Call, ToolAnswer]> {
    for (let from = 0; from < calls.length;) {
      const length = calls.slice(from).findIndex((call) => !this.#onlyReads(call));
      const readers = length < 0 ? calls.length - from : length;
      const together = calls.slice(from, from + Math.min(MOST_TOGETHER, Math.max(1, readers)));
      from += together.length;
      await untilContinued(this.#options.turn);
      const ends = await Promise.allSettled(together.map((call) => this.call(call)));
      for (const [index, end] of ends.entries()) {
        if (end.status === "rejected") throw end.reason;
        yield [together[index] as Call, end.value];
      }
    }
  }

  /** Calls a tool. Failures are answers for the model; only a cancelled turn throws. */
  async call(call: ToolCall): Promise<ToolAnswer> {
    const tool = this.#options.tools.get(call.name);
    // A model may know a tool from earlier in the conversation.
    if (tool?.group !== undefined) this.#options.groups.open(tool.group);
    return this.perform(call, tool, () => this.#options.files.seen.takeLate());
  }

  /** Whether a hook has ended the turn. */
  get isStopped(): boolean {
    return this.#options.hooks?.stopped !== undefined;
  }

  /** The model has got the answers to its calls. */
  answered(): void {
    this.#options.files.seen.delivered();
  }

  /** Calls a tool that is not in the model's list. */
  async perform(
    asked: ToolCall,
    tool: AgentTool | undefined,
    takeLate: () => string = () => "",
  ): Promise<ToolAnswer> {
    const { speaker, turn, log } = this.#options;
    // ACP tool-calls: ids are unique in a session, but some models reuse theirs in each answer.
    const call = { ...asked, id: crypto.randomUUID() };
    const args = asArguments(call.args);
    await speaker.update({
      sessionUpdate: "tool_call",
      toolCallId: call.id,
      title: short(oneLine(tool?.title(args) ?? call.name)),
      name: call.name,
      kind: tool?.kind ?? "other",
      status: "pending",
      rawInput: shownInput(call.args),
    });
    let answer: ToolAnswer;
    let code: number | undefined;
    let isCancelled = false;
    const runs: HookRun[] = [];
    try {
      if (tool === undefined) throw this.#unknown(call.name);
      answer = await this.#run(tool, args, call, runs);
    } catch (error) {
      if (turn.signal.aborted) {
        await this.#cancelled(call, runs);
        throw error;
      }
      if (error instanceof RpcError) ({ code } = error);
      isCancelled = error instanceof CallCancelled;
      answer = { text: failureText(error, call.name, log), isError: true };
    }
    for (const { path } of answer.locations ?? []) await this.#options.workedOn?.(path);
    const late = takeLate();
    const text = maskWhole(late === "" ? answer.text : `${answer.text}\n\n${late}`);
    await this.#finished(call, { ...answer, text }, { code, isCancelled, runs });
    return { ...answer, text };
  }

  async #run(
    tool: AgentTool,
    given: Arguments,
    asked: ToolCall,
    runs: HookRun[],
  ): Promise<ToolAnswer> {
    const { turn, timeout, hooks } = this.#options;
    if (asked.problem !== undefined) throw new TrunklineError("usage", asked.problem);
    let call = asked;
    let { args, ignored } = await this.#checked(tool, given);
    const ran = new Set<string>();
    const hooked = { tool, id: call.id, signal: turn.signal, runs, ran };
    const before = await hooks?.before({ ...hooked, args });
    if (before?.args !== undefined) {
      // Like any call: what follows asks the policy and the person about the changed one.
      const title = short(oneLine(tool.title(before.args)));
      await this.#update(call, { title, rawInput: shownInput(before.args) });
      const when = " after a hook has changed them";
      ({ args, ignored } = await this.#checked(tool, before.args, when));
      call = { ...call, args };
    }
    const late = new AbortController();
    const { running } = this.#options;
    using ends = new DisposableStack();
    running.set(call.id, late);
    ends.defer(() => running.delete(call.id));
    const _meta = { trunkline: { cancellable: true } };
    await this.#update(call, { status: "in_progress", _meta });
    const signal = AbortSignal.any([turn.signal, late.signal]);
    const limit = tool.timeout ?? timeout;
    using countdown = new Countdown(limit, () => {
      const says = `'${tool.name}' took longer than ${Math.round(limit / 1000)} s`;
      late.abort(RpcError.of(ACP.toolTimeout, says));
    });
    const insists = before?.asks;
    const work = Object.assign(this.#work(tool, call, signal, countdown, insists), {
      hooksRan: ran,
    });
    signal.throwIfAborted();
    // The agent's own tools that need a permission always ask, and then a person has to answer.
    if (insists !== undefined && (tool.need === "nothing" || tool.hooked !== undefined)) {
      await work.allow({});
    }
    const said = await untilAborted(tool.call(args, work), signal);
    const known = ignored === "" ? said : { ...said, text: `${said.text}\n${ignored}` };
    const answer = withWords(known, before?.context ?? "");
    if (answer.isError === true || hooks === undefined) return answer;
    return await hooks.after({ ...hooked, args }, answer);
  }

  /** Arguments that fit the tool, which the mode allows. `when` says since when they may not. */
  async #checked(tool: AgentTool, given: Arguments, when = "") {
    const { mode } = this.#options;
    if (!mode().may.includes(tool.need)) {
      const says = `'${tool.name}' cannot be used in the mode '${mode().name}'`;
      throw RpcError.of(ACP.toolDisabled, says);
    }
    const { args, unknown } = knownArguments(given, tool.inputSchema);
    const ignored = ignoredText(unknown);
    const problem = await argumentProblem({ definition: tool } as unknown as Tool, args);
    if (problem === undefined) return { args, ignored };
    const says = `Invalid arguments for '${tool.name}'${when}: ${problem}`;
    throw new TrunklineError("usage", ignored === "" ? says : `${says}. ${ignored}`);
  }

  #work(
    tool: AgentTool,
    call: ToolCall,
    signal: AbortSignal,
    countdown: Countdown,
    insists: string | undefined,
  ): ToolWork {
    const { turn, speaker } = this.#options;
    let why = insists;
    return {
      ...servicesOf(this.#options),
      get client() {
        return turn.client;
      },
      signal,
      toolCallId: call.id,
      principal: turn.principal,
      trace: carrierOf(turn.span, turn._meta),
      show: (shown) => this.#update(call, shown),
      plan: (entries) => speaker.plan(entries),
      progressed: () => turn.progressed(),
      // Waiting for a person does not count.
      allow: (consent) => {
        const asked = why === undefined ? consent : insistent(consent, call, why);
        // What it asks later, such as about a host, is another question.
        why = undefined;
        return countdown.pausedWhile(() => this.#ask(tool, call, asked, signal));
      },
      choose: (choice) => countdown.pausedWhile(() => this.#choose(tool, call, choice, signal)),
    };
  }

  async #ask(
    tool: AgentTool,
    call: ToolCall,
    consent: ConsentRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const { turn, files, mode } = this.#options;
    const { subject, title, content = [wholeInput(call.args)], locations } = consent;
    const isDiff = content.some(({ type }) => type === "diff");
    const toolCall = {
      toolCallId: call.id,
      title: oneLine(title ?? tool.title(asArguments(call.args))),
      kind: tool.kind,
      status: "pending",
      // A diff shows the same.
      ...(isDiff ? {} : { rawInput: maskWords(call.args) }),
      content,
      locations: locations ?? [],
    };
    const options = optionsFor(consent, files.workspace.cwd);
    const always = subject === undefined ? {} : { subject };
    const isAccepted = consent.isPlainEdit === true && mode().acceptsEdits === true;
    const accepted = isAccepted ? { acceptedBy: `mode ${mode().id}` } : {};
    const _meta = { trunkline: { needsPerson: true } };
    const marked = consent.needsPerson === true ? { _meta } : {};
    const asked = turn.requestPermission({ toolCall, options, ...always, ...accepted, ...marked });
    const outcome = await untilAborted(asked, signal);
    if (outcome.outcome === "selected" && outcome.kind.startsWith("allow")) return;
    throw new CallRejectedError(
      "The person did not allow it. Do not try it again in another way; ask what they want instead.",
    );
  }

  async #choose(
    tool: AgentTool,
    call: ToolCall,
    { title, content, options }: Choice,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const toolCall = {
      toolCallId: call.id,
      title: oneLine(title),
      kind: tool.kind,
      status: "pending",
      content,
    };
    const asked = this.#options.turn.requestPermission({
      toolCall,
      options: options.map(({ name, isNo = false }, at) => {
        const kind = isNo ? "reject_once" : "allow_once";
        return { optionId: String(at), name: visibleLine(name), kind };
      }),
      _meta: { trunkline: { needsPerson: true } },
    });
    const outcome = await untilAborted(asked, signal);
    return outcome.outcome === "selected" ? Number(outcome.optionId) : undefined;
  }

  async #finished(
    call: ToolCall,
    answer: ToolAnswer,
    { code, isCancelled, runs }: CallEnd,
  ): Promise<void> {
    const { isError = false, content = [textContent(shownText(answer.text))], locations } = answer;
    const error = { code, message: answer.text.slice(0, 1_000) };
    // ACP version 1 has no status for a cancelled call.
    const ended = isCancelled ? { isCancelled } : {};
    const hooks = runs.length === 0 ? {} : (hooksMeta(runs).trunkline as object);
    await this.#update(call, {
      status: isError ? "failed" : "completed",
      ...(content.length === 0 ? {} : { content }),
      ...(locations === undefined ? {} : { locations }),
      ...(code === undefined ? {} : { rawOutput: { error } }),
      ...(isCancelled || runs.length > 0 ? { _meta: { trunkline: { ...hooks, ...ended } } } : {}),
    });
  }

  async #cancelled(call: ToolCall, runs: readonly HookRun[]): Promise<void> {
    const content = [textContent("Cancelled.")];
    const _meta = runs.length === 0 ? {} : { _meta: hooksMeta(runs) };
    await this.#update(call, { status: "failed", content, ..._meta }).catch(() => {});
  }

  async #update(call: ToolCall, fields: ShownToolCall): Promise<void> {
    const { content } = fields;
    const shown = content === undefined ? {} : { content: content.map((each) => this.#hide(each)) };
    const update = { sessionUpdate: "tool_call_update", toolCallId: call.id, ...fields, ...shown };
    await this.#options.speaker.update(update);
  }

  /** Hides secrets: what is shown is stored, and given to the model when the session is loaded. */
  #hide(shown: ShownContent): ShownContent {
    const block = shown.content as { readonly type?: string; readonly text?: string } | undefined;
    if (block?.type !== "text" || block.text === undefined) return shown;
    const text = maskWhole(block.text);
    return { ...shown, content: { ...block, text } };
  }

  #onlyReads({ name, args }: ToolCall): boolean {
    const tool = this.#options.tools.get(name);
    if (tool?.onlyReads !== undefined) return tool.onlyReads(asArguments(args));
    return tool?.need === "nothing" && (tool.kind === "read" || tool.kind === "search");
  }

  #unknown(name: string): RpcError {
    const near = suggest(name, [...this.#options.tools.keys()]);
    const meant = near.length === 0 ? "" : `. Did you mean ${near.join(" or ")}?`;
    return RpcError.of(ACP.toolNotFound, `there is no tool '${name.slice(0, 100)}'${meant}`);
  }
}

function servicesOf(options: ToolServices): ToolServices {
  const { files, log, sessionId, actsAs, sandbox, diagnostics, background } = options;
  return { files, log, sessionId, actsAs, sandbox, diagnostics, background };
}

/** A request that only a person answers, because a hook wants it: no rule, no mode and no `--yes`. */
function insistent(consent: ConsentRequest, call: ToolCall, why: string): ConsentRequest {
  const { subject: _, covers: __, isPlainEdit: ___, ...rest } = consent;
  const { content = [wholeInput(call.args)] } = consent;
  return { ...rest, content: [textContent(why), ...content], needsPerson: true };
}

function asArguments(args: unknown): Arguments {
  return isObject(args) ? args : {};
}

/** The message for the model. Unexpected errors are logged. */
function failureText(error: unknown, name: string, log: Log): string {
  const isTold =
    error instanceof TrunklineError ||
    error instanceof RpcError ||
    error instanceof CallRejectedError;
  if (isTold) return error.message;
  const words = diskWords(error);
  if (words !== undefined) return `'${name}' failed: ${words}`;
  log.error("agent.tool-fault", { tool: name, error });
  return `'${name}' failed because of a fault in it: ${(error as Error).message}`;
}

function oneLine(title: string): string {
  // Only from the first of many spaces: else each would be a start.
  return title.replaceAll(/(?<!\s)\s*\n\s*/g, " ⏎ ");
}

/** Shortens a title for updates; permission requests show all of it. */
function short(title: string): string {
  return title.length > MOST_TITLE ? `${title.slice(0, MOST_TITLE)}…` : title;
}

const MOST_TITLE = 300;

/** Calls that run at the same time. */
const MOST_TOGETHER = 8;

const MOST_SHOWN = 16_000;

function shownText(text: string): string {
  if (text.length <= MOST_SHOWN) return text;
  return `${text.slice(0, MOST_SHOWN)}\n… (${text.length} characters in all)`;
}

/** ACP message specification § Message Size Limits: a `session/update` has at most 100 KB. */
const MOST_CHARACTERS = 24_000;
const CONTEXT = 20;

/** A change that was made, cut to the size of an update. */
export function shownDiff(
  path: string,
  oldText: string | undefined,
  newText: string,
): ShownContent {
  const { oldText: before, newText: after, ...diff } = wholeDiff(path, oldText, newText);
  const cut = (text: string): string => text.slice(0, MOST_CHARACTERS / 2);
  return { ...diff, oldText: before === null ? null : cut(before), newText: cut(after) };
}

interface Diff extends ShownContent {
  readonly type: "diff";
  readonly path: string;
  readonly oldText: string | null;
  readonly newText: string;
}

/** A change with all changed lines. In a large file, unchanged lines around them are left out. */
export function wholeDiff(path: string, oldText: string | undefined, newText: string): Diff {
  const size = newText.length + (oldText?.length ?? 0);
  if (size <= MOST_CHARACTERS) return { type: "diff", path, oldText: oldText ?? null, newText };
  const before = (oldText ?? "").split("\n");
  const after = newText.split("\n");
  const from = commonStart(before, after);
  const tail = commonEnd(before, after, from);
  const first = Math.max(0, from - CONTEXT);
  const changed = (lines: readonly string[]): string => {
    return lines.slice(first, Math.min(lines.length, lines.length - tail + CONTEXT)).join("\n");
  };
  const excerpt = { firstLine: first + 1, lines: after.length };
  return {
    type: "diff",
    path,
    oldText: oldText === undefined ? null : changed(before),
    newText: changed(after),
    _meta: { "trunkline/excerpt": excerpt },
  };
}

/** Where a change begins. */
export function changeLocation(
  path: string,
  oldText: string | undefined,
  newText: string,
): Location {
  if (oldText === undefined) return { path };
  const from = commonStart(oldText.split("\n"), newText.split("\n"));
  return { path, line: from + 1 };
}

function commonStart(a: readonly string[], b: readonly string[]): number {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return Math.min(same, Math.max(0, b.length - 1));
}

function commonEnd(a: readonly string[], b: readonly string[], from: number): number {
  const most = Math.min(a.length, b.length) - from;
  let same = 0;
  while (same < most && a.at(-1 - same) === b.at(-1 - same)) same++;
  return same;
}

const LONGEST = 2_000;
const MOST = 16_000;

/** Arguments to show and store: without secrets, and shortened. */
export function shownInput(args: unknown): unknown {
  const shown = mask(cut(args, LONGEST));
  const size = JSON.stringify(shown)?.length ?? 0;
  return size <= MOST ? shown : { cut: `${size} characters` };
}

/** All arguments, for a request for consent. */
export function wholeInput(args: unknown): ShownContent {
  return textContent(inCodeBlock(JSON.stringify(maskWords(args), null, 2)));
}

const MOST_CONTENT = 8_000;

/** The end of a program's output as a Markdown code block. */
export function fencedEnd(text: string): string {
  return inCodeBlock(text.length > MOST_CONTENT ? `…${text.slice(-MOST_CONTENT)}` : text);
}

/** A text as a Markdown code block. */
export function inCodeBlock(text: string): string {
  const fence = fenceFor(text);
  return `${fence}\n${text}\n${fence}`;
}

/** A code block with a line end after it. */
export function fencedBlock(text: string): string {
  return `${inCodeBlock(text.replace(/\n$/, ""))}\n`;
}

/** Asks the person about the hosts that a command connects to, one after the other. */
export class HostQuestions {
  /** Pauses the timeout of the command while a person is asked. */
  pausedWhile: Countdown["pausedWhile"] = (work) => work();
  readonly #allow: ToolWork["allow"];
  readonly #queue = new TaskQueue();

  constructor(allow: ToolWork["allow"]) {
    this.#allow = allow;
  }

  ask(host: string): Promise<boolean> {
    return this.#queue.run(() => this.pausedWhile(() => this.#isAllowed(host)));
  }

  async #isAllowed(host: string): Promise<boolean> {
    try {
      await this.#allow({
        subject: { action: "connect", host },
        covers: `connections of commands to ${host}`,
        title: `Connect to ${host}`,
        content: [textContent(`The command wants to connect to \`${host}\`.`)],
      });
      return true;
    } catch (error) {
      if (error instanceof CallRejectedError) return false;
      throw error;
    }
  }
}

/**
 * Removes properties that a tool's schema rules out, and returns their paths, such as `edits.0.reason`.
 * Models invent some (`explanation`), and a call that is complete without them need not be made again.
 */
export function knownArguments(args: Arguments, schema: JsonSchema) {
  const unknown: string[] = [];
  const known = strip(args, schema, "", unknown) as Arguments;
  return unknown.length === 0 ? { args, unknown } : { args: known, unknown };
}

/** Says which properties were ignored; empty if none were. */
export function ignoredText(unknown: readonly string[]): string {
  if (unknown.length === 0) return "";
  const names = unknown.slice(0, MOST_NAMES).map((name) => `'${name.slice(0, LONGEST_NAME)}'`);
  const rest = unknown.length > MOST_NAMES ? ` and ${unknown.length - MOST_NAMES} more` : "";
  return `(Ignored, since the tool has no such arguments: ${names.join(", ")}${rest}.)`;
}

const MOST_NAMES = 10;
const LONGEST_NAME = 100;

function strip(value: unknown, schema: unknown, path: string, unknown: string[]): unknown {
  if (!isObject(schema)) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    return value.map((each, index) => strip(each, items, `${path}${index}.`, unknown));
  }
  const { properties, additionalProperties } = schema;
  if (!isObject(value) || !isObject(properties)) return value;
  // With pattern properties and the like, only the validator can say what is ruled out.
  const isClosed = additionalProperties === false && schema.patternProperties === undefined;
  const kept: [string, unknown][] = [];
  for (const [name, each] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) {
      kept.push([name, strip(each, properties[name], `${path}${name}.`, unknown)]);
    } else if (isClosed) unknown.push(`${path}${name}`);
    else kept.push([name, each]);
  }
  return Object.fromEntries(kept);
}

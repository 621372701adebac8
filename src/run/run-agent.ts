import { setTimeout as delay } from "node:timers/promises";

import { untilAborted } from "../base/abort.ts";
import { endOrCancelled } from "../session/turn/end-or-cancelled.ts";
import type { Semaphore } from "../base/limit/semaphore.ts";
import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import type {
  Agent,
  AgentOpenOptions,
  AgentSession,
  ClientFiles,
  SessionSettings,
  SessionUpdate,
  Turn,
  TurnEnd,
} from "../session/agent.ts";
import { inBothForms } from "../session/settings.ts";
import type { RunTarget, Delivery } from "./deliver.ts";
import { wordsOnRequest, type ProposalResult } from "./pull-request.ts";
import type { PushMemory, Run } from "./run.ts";
import type { Runs } from "./runs.ts";

/** A message about the run itself, not from its agent. Clients show it as a thought, or ignore it. */
export function progressUpdate(message: string): SessionUpdate {
  return {
    sessionUpdate: "agent_thought_chunk",
    content: { type: "text", text: `${message}\n` },
    // ACP has no field for this.
    _meta: { trunkline: { run: "progress" } },
  };
}

const PUSHED = "trunkline/pushed";

/** What is stored with a session about its run and the agent in it; available before its files are. */
function runMemory({ memory, remember }: Pick<AgentOpenOptions, "memory" | "remember">) {
  const found = Object(memory) as { [PUSHED]?: unknown; agent?: unknown };
  const isOurs = typeof found[PUSHED] === "string";
  let pushed = isOurs ? String(found[PUSHED]) : undefined;
  let agent = isOurs ? found.agent : memory;
  const store = () => remember(pushed === undefined ? agent : { [PUSHED]: pushed, agent });
  const ofRun: PushMemory = {
    get pushed() {
      return pushed;
    },
    hasPushed: (revision) => {
      pushed = revision;
      return store();
    },
  };
  const rememberOfAgent = (it: unknown): Promise<void> => {
    agent = it;
    return store();
  };
  return { ofRun, ofAgent: () => ({ memory: agent, remember: rememberOfAgent }) };
}

/** A run whose workspace and agent are being prepared, or are ready. */
interface RunAttempt {
  readonly run: Run;
  readonly inner: Promise<AgentSession>;
  end(): Promise<void>;
}

/** What a session says at the end of a turn. */
function wordsOn(delivery: Delivery): string {
  switch (delivery.kind) {
    case "unchanged":
      return "Nothing was changed, so nothing was pushed.";
    case "pushed":
      return wordsOnPush(delivery.target);
    case "refused": {
      const files = delivery.problems.map(({ path, why }) => `'${path}': ${why}`).join("; ");
      return `Not pushed. ${files}. Fix that, and the next turn pushes everything.`;
    }
    case "unpushed":
      return `Committed as ${delivery.revision.slice(0, 12)}, but not pushed: ${delivery.why.message} It is tried again; \`trunkline run patch\` gives the change meanwhile.`;
  }
}

function wordsOnPush({ branch, revision }: RunTarget): string {
  return `Pushed ${branch} at ${revision.slice(0, 12)}.`;
}

/** Remote run guide: the fields that a client reads, and additional ones. */
function resultOf(
  delivery: Delivery,
  target: RunTarget | undefined,
  pullRequest: object | undefined,
): Readonly<Record<string, unknown>> {
  const changes = delivery.kind === "pushed" ? { changes: delivery.changes } : {};
  const request = pullRequest === undefined ? {} : { pullRequest };
  const trunkline = { run: delivery.kind, ...changes, ...request };
  return { ...(target === undefined ? {} : { target }), trunkline };
}

/** What a client is told of a request, in `_meta.trunkline.pullRequest`. */
function requestOf(proposed: ProposalResult | undefined): object | undefined {
  if (proposed === undefined) return undefined;
  if (proposed.state === "failed") {
    const { why, page } = proposed;
    return { error: why, ...(page === undefined ? {} : { page }) };
  }
  const { url, number } = proposed;
  return { url, number };
}

const OVER: ReadonlySet<unknown> = new Set(["completed", "failed"]);

/** A turn for the agent in a workspace: its files are those here, not the client's. */
function workspaceTurn(
  turn: Turn,
  signal: AbortSignal,
  files: ClientFiles,
  toolEnded: () => void,
): Turn {
  const { id, principal, prompt, _meta } = turn;
  return {
    ...{ id, principal, prompt, signal, ...(_meta === undefined ? {} : { _meta }) },
    get client() {
      const { terminal: _, ...rest } = turn.client;
      return { ...rest, fs: files };
    },
    update: (update) => {
      if (update.sessionUpdate.startsWith("tool_call") && OVER.has(update.status)) toolEnded();
      return turn.update(update);
    },
    requestPermission: (request) => turn.requestPermission(request),
    progressed: () => turn.progressed(),
    paused: () => turn.paused?.(),
    whileWaiting: (work) => waiting(turn, work),
    steering: () => turn.steering?.(),
  };
}

/** Does work during which the agent waits, such as fetching. That time does not count as a lack of progress. */
function waiting<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
  return turn.whileWaiting?.(work) ?? work();
}

/**
 * Limits how many sessions begin at once. A worker that takes over another's sessions would otherwise start
 * dozens of programs together, and clients would wait for a processor behind them.
 */
export interface StartPace {
  readonly slots: Semaphore;
  /** Milliseconds after which the next begins although none is done. */
  readonly longest: number;
}

/** An agent that works in a run's workspace. */
export type InnerAgent = Agent & Partial<AsyncDisposable>;

export interface RunAgentOptions {
  readonly runs: Runs;
  /** The agent that works in the workspace once it is ready. */
  readonly inner: (run: Run) => Promise<InnerAgent>;
  readonly name: string;
  /** The stored plan of the session's run. */
  readonly plan: unknown;
  /** Milliseconds that `session/new` waits for the workspace before it answers. */
  readonly answerWithin: number;
  /** Milliseconds that opening a session again waits; `answerWithin` by default. */
  readonly reopenWithin?: number | undefined;
  /** Lets sessions that are opened again prepare their workspaces a few at a time. */
  readonly pace?: StartPace | undefined;
  /** Milliseconds that an agent has to end its turn when a budget is used up, before it is pushed. */
  readonly budgetGrace?: number;
}

/**
 * Lets any agent work on an exact revision of a repository, in its own workspace, and pushes its
 * changes as a branch. To the session it is an agent like any other.
 */
export function runAgent(own: RunAgentOptions): Agent {
  const { name, runs, plan, pace, answerWithin, reopenWithin = answerWithin } = own;

  /** Begins to prepare the workspace, and the agent in it. */
  const attemptOf = async (options: RunSessionOptions, memory: PushMemory): Promise<RunAttempt> => {
    const run = await runs.open(plan, options.sessionId, name, memory);
    const ends = new AsyncDisposableStack();
    const stop = new AbortController();
    const begin = (): Promise<AgentSession> =>
      beginIn(run, options, ends).catch((error: unknown) => {
        if (!(error instanceof TrunklineError)) throw error;
        throw new TrunklineError(error.code, options.hide(error.message), { cause: error });
      });
    const isAgain = options.history !== undefined && pace !== undefined;
    const inner = isAgain
      ? pace.slots.run(begin, { signal: stop.signal, longest: pace.longest })
      : begin();
    const end = async (): Promise<void> => {
      stop.abort(new TrunklineError("unavailable", "The session has ended."));
      run.stop();
      await (await inner.catch(() => undefined))?.[Symbol.asyncDispose]();
      await ends.disposeAsync();
      await run.close();
    };
    let ending: Promise<void> | undefined;
    return { run, inner, end: () => (ending ??= end()) };
  };

  const beginIn = async (
    run: Run,
    options: RunSessionOptions,
    ends: AsyncDisposableStack,
  ): Promise<AgentSession> => {
    const tell = (message: string): void => tellOfProgress(options, message);
    const workspace = await run.prepare(tell);
    if (!workspace.isNew) {
      const pushed = run
        .pushKept((target) => tell(wordsOnPush(target)))
        .then(async () => {
          const proposed = await run.propose();
          if (proposed !== undefined) tell(wordsOnRequest(proposed));
        });
      background(pushed, "Pushing what an earlier turn has committed");
    }
    const openInner = async (): Promise<AgentSession> => {
      const mcpServers = reachableServers(options);
      const agent = await own.inner(run);
      ends.defer(async () => agent[Symbol.asyncDispose]?.());
      const place = { cwd: run.workspace.tree, additionalDirectories: [], mcpServers };
      return await agent.open({ ...options, ...place });
    };
    // The agent starts while the remote answers.
    const opening = openInner();
    const [check, inner] = await Promise.allSettled([run.checkPush(), opening]);
    if (check.status === "fulfilled" && inner.status === "fulfilled") return inner.value;
    if (inner.status === "fulfilled") await inner.value[Symbol.asyncDispose]();
    throw check.status === "rejected" ? check.reason : (inner as PromiseRejectedResult).reason;
  };

  return {
    name,

    async open(options) {
      const { budgetGrace = BUDGET_GRACE } = own;
      const memory = runMemory(options);
      const all = { ...options, budgetGrace, hide: (said: string) => runs.withoutFolder(said) };
      const attempt = (): Promise<RunAttempt> =>
        attemptOf({ ...all, ...memory.ofAgent() }, memory.ofRun);
      await using opening = new AsyncDisposableStack();
      const session = opening.use(runSession(await attempt(), attempt, all));
      await session.readyWithin(options.history === undefined ? answerWithin : reopenWithin);
      opening.move();
      return session;
    },
  };
}

/** MCP servers that can be reached from here. Programs of the client's machine do not exist here. */
export function reachableServers(options: Pick<AgentOpenOptions, "mcpServers" | "update">) {
  return options.mcpServers.filter(({ name, command }) => {
    if (command === undefined) return true;
    const why = "it is a program on your machine. Only servers with an HTTP address can be used";
    options.update(progressUpdate(`The MCP server '${name}' is not used here: ${why}.`));
    return false;
  });
}

function tellOfProgress(options: RunSessionOptions, message: string): void {
  options.update(progressUpdate(options.hide(message)));
}

const BUDGET_GRACE = 3_000;

type RunSessionOptions = AgentOpenOptions & {
  readonly budgetGrace: number;
  /** Removes folders of this server from a message, because clients are usually on other machines. */
  readonly hide: (message: string) => string;
};

interface RunSession extends AgentSession {
  /** Throws if preparing has failed by then; a workspace that takes longer is announced when it is ready. */
  readyWithin(milliseconds: number): Promise<void>;
}

/** One session whose work comes back as a branch. */
function runSession(
  first: RunAttempt,
  again: () => Promise<RunAttempt>,
  options: RunSessionOptions,
): RunSession {
  const { budgetGrace, hide } = options;
  let current = first;
  let hasFailed = false;
  let isOver = false;
  let beginning: Promise<void> | undefined;
  let session: AgentSession | undefined;
  const run = (): Run => current.run;
  use(first);

  async function work(inner: AgentSession, turn: Turn): Promise<TurnEnd> {
    let end: TurnEnd;
    using time = timeLimit(turn.signal, run().limits.time);
    const { signal } = time;
    try {
      const work = workspaceTurn(turn, signal, run().files, () => run().checkpointSoon());
      const ending = inner.prompt(work);
      // Also ends a turn whose budget is spent, if the agent does not.
      end = await endOrCancelled(ending, signal, budgetGrace, isBudgetSpent);
    } catch (error) {
      await run().checkpoint();
      if (!isBudgetSpent(signal)) throw error;
      end = { stopReason: "cancelled" };
    }
    // A turn that a budget stopped is pushed; a turn that somebody cancelled is not.
    if (end.stopReason === "cancelled" && !isBudgetSpent(signal)) {
      await run().checkpoint();
      return end;
    }
    if (isBudgetSpent(signal) && !turn.signal.aborted) {
      await say(turn, (signal.reason as Error).message);
      end = { ...end, stopReason: "max_turn_requests" };
    }
    const delivery = await waiting(turn, () => run().deliver(turn));
    // Changes that are not committed can be exported as a patch.
    if (delivery.kind === "refused") await run().checkpoint();
    if (delivery.kind === "unpushed") run().pushLater((target) => tellOfPush(target));
    await say(turn, hide(wordsOn(delivery)));
    const proposed = await run().propose();
    if (proposed !== undefined) await say(turn, wordsOnRequest(proposed));
    const pullRequest = requestOf(proposed) ?? run().pullRequest;
    const { _meta } = end;
    const target = delivery.kind === "pushed" ? delivery.target : run().pushed;
    return { ...end, _meta: { ..._meta, ...resultOf(delivery, target, pullRequest) } };
  }

  function use(attempt: RunAttempt): void {
    current = attempt;
    hasFailed = false;
    attempt.inner.then(
      (inner) => (session = inner),
      // The failure is reported by the calls that wait for it.
      () => (hasFailed = true),
    );
  }

  /** Tries once more what has failed: the remote may have been away. */
  async function begun(): Promise<AgentSession> {
    if (hasFailed && !isOver) {
      beginning ??= beginAgain().finally(() => (beginning = undefined));
    }
    await beginning;
    return await current.inner;
  }

  async function beginAgain(): Promise<void> {
    await current.end();
    use(await again());
  }

  async function choose(
    what: string,
    choose: (inner: AgentSession) => Promise<void> | undefined,
  ): Promise<void> {
    const chosen = choose(await begun());
    if (chosen === undefined) {
      throw new TrunklineError("usage", `This agent offers no choice of ${what}.`);
    }
    await chosen;
  }

  function tellOfPush(target: RunTarget): void {
    tell(wordsOnPush(target), { target });
    background(proposeLate(), "Opening a pull request");
  }

  async function proposeLate(): Promise<void> {
    const proposed = await run().propose();
    if (proposed !== undefined) tell(wordsOnRequest(proposed));
  }

  function tell(words: string, meta: object = {}): void {
    options.update({
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: `\n\n_${words}_\n` },
      _meta: { "trunkline/aside": true, ...meta },
    });
  }

  async function tellWhenReady(): Promise<void> {
    const inner = await current.inner.catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      tellOfProgress(options, `The workspace could not be prepared: ${why}`);
    });
    const { configOptions } = inBothForms(inner?.settings ?? {});
    if (configOptions !== undefined) {
      options.update({ sessionUpdate: "config_option_update", configOptions });
    }
  }

  return {
    get settings(): SessionSettings {
      const { _meta, ...settings } = session?.settings ?? {};
      return { ...settings, _meta: { ..._meta, target: run().target } };
    },

    async readyWithin(milliseconds) {
      const late = delay(milliseconds, undefined, { ref: false });
      const inner = await Promise.race([current.inner, late]);
      if (inner === undefined) background(tellWhenReady(), "Telling that a run is ready");
    },

    async prompt(turn) {
      const ready = async () => session ?? (await untilAborted(begun(), turn.signal));
      const inner = await waiting(turn, ready);
      const enter = (): Promise<Disposable> =>
        run().enter(turn, (position) => {
          tellOfProgress(options, `Waiting for a free slot: position ${position} in the queue …`);
        });
      using _ = await waiting(turn, enter);
      return await work(inner, turn);
    },

    isCommand: (prompt) => session?.isCommand?.(prompt) === true,
    cancelPart: async (part) => (await session?.cancelPart?.(part)) === true,
    pausing: (prompt) => session?.pausing?.(prompt),
    passPausing: (prompt) => session?.passPausing?.(prompt),
    setMode: (modeId) => choose("mode", (inner) => inner.setMode?.(modeId)),
    setModel: (modelId) => choose("model", (inner) => inner.setModel?.(modelId)),
    setConfigOption: (id, value) => choose("option", (inner) => inner.setConfigOption?.(id, value)),

    async [Symbol.asyncDispose]() {
      // A stopped attempt counts as failed; a prompt that still waits must not start another.
      isOver = true;
      await beginning?.catch(() => {});
      await current.end();
    },
  };
}

/** A signal that also ends a turn after some seconds. */
function timeLimit(signal: AbortSignal, seconds: number | undefined) {
  if (seconds === undefined) return { signal, [Symbol.dispose]: () => {} };
  const late = new AbortController();
  const why = `The turn was ended after ${seconds} s, which \`remote.limits\` allows.`;
  const timer = setTimeout(() => late.abort(new TrunklineError("limit", why)), seconds * 1_000);
  return {
    signal: AbortSignal.any([signal, late.signal]),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** Whether a turn was stopped because a budget is used up, and not by somebody. */
function isBudgetSpent(signal: AbortSignal): boolean {
  const reason: unknown = signal.aborted ? signal.reason : undefined;
  return reason instanceof TrunklineError && reason.code === "limit";
}

async function say(turn: Turn, text: string): Promise<void> {
  const content = { type: "text", text: `\n\n_${text}_\n` };
  const _meta = { "trunkline/aside": true };
  await turn.update({ sessionUpdate: "agent_message_chunk", content, _meta });
}

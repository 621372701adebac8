import { TrunklineError } from "../../base/errors.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import type { SessionUpdate, Turn } from "../agent.ts";
import type { Audience } from "../client/audience.ts";
import type { SessionClient } from "../client/client.ts";
import { PendingAnswer } from "../client/pending-answer.ts";
import type { NoticedPermission } from "../notice.ts";
import {
  type Answerer,
  type AnswerPolicy,
  answerRefusal,
  type AskedTurn,
  type PermissionKind,
  type PermissionOutcome,
  type PermissionRequest,
  subjectKey,
} from "./permission.ts";
import { SessionError } from "../session-error.ts";
import type { SessionNotes } from "../session-notes.ts";
import type { RuleStore } from "../store.ts";
import type { Transcript } from "../turn/transcript.ts";
import { visibleRequest } from "../visible-request.ts";

export interface PermissionRequestsOptions {
  readonly sessionId: string;
  /** The folder in which an "always" answer applies. */
  readonly workspace: string;
  readonly rules?: RuleStore | undefined;
  readonly audience: Audience;
  readonly transcript: Transcript;
  readonly notes: Pick<SessionNotes, "keep">;
  readonly policy: AnswerPolicy;
  /** Tells people who are away that a permission is needed, or not any more. */
  readonly noticed: (notice: NoticedPermission) => void;
  readonly closed: (requestId: string) => void;
  /** Maximum size of one request, in bytes. */
  readonly maxSize: number | undefined;
  /** Records who permitted what. */
  readonly audit: (entry: object) => void;
}

/** A request of an interrupted turn. People can still answer it, because the next turn will ask the same. */
export interface UnansweredRequest {
  readonly requestId: string;
  readonly request: PermissionRequest;
}

/** A request that waits for an answer. */
interface OpenPermission {
  readonly pending: PendingPermission;
  /** Resolves when the answer is in the log. */
  readonly stored: Promise<PermissionAnswer>;
}

const ALLOW: readonly PermissionKind[] = ["allow_once", "allow_always"];
const REJECT: readonly PermissionKind[] = ["reject_once", "reject_always"];

/** Answers the permission requests of agents: by a remembered rule, or by asking the clients. */
export class PermissionRequests {
  readonly #options: PermissionRequestsOptions;
  readonly #open = new Map<string, OpenPermission>();
  /** The answer to a request of an interrupted turn, until the next turn asks the same. */
  #early: { readonly request: PermissionRequest; readonly answered: PermissionAnswer } | undefined;
  /** Resolves when the answer to such a request is stored. The request is cancelled when a turn begins. */
  #askingAgain: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(options: PermissionRequestsOptions) {
    this.#options = options;
  }

  async ask(
    turn: Pick<Turn, "id" | "principal"> & { readonly prompter: SessionClient | undefined },
    asked: PermissionRequest,
  ): Promise<PermissionOutcome> {
    const { transcript, sessionId } = this.#options;
    const { id: turnId, principal, prompter: asker } = turn;
    const request = visibleRequest(asked);
    const requestId = crypto.randomUUID();
    await this.#askingAgain;
    const ruled =
      this.#answeredEarly(request) ??
      (await this.#rule(request, principal)) ??
      this.#accepted(request, { sessionId, asker, principal });
    if (ruled === undefined) this.#mustBeShown(request);
    await transcript.record({ kind: "permission", turnId, requestId, request });
    const answered =
      ruled ?? (await this.#askAll(requestId, request, { sessionId, asker, principal }));
    if (ruled !== undefined) await this.#record(requestId, ruled);
    this.#audit(request, answered);
    if (ruled === undefined) await this.#learn(request, answered);
    return answered.outcome;
  }

  /**
   * Asks again what was open when the turn was interrupted. The answer counts for the next turn, if that asks
   * the same.
   */
  askAgain(unanswered: UnansweredRequest, principal: Principal): Promise<void> {
    const asking = this.#askAgain(unanswered, principal);
    this.#askingAgain = asking.catch(() => {});
    return asking;
  }

  async #askAgain(unanswered: UnansweredRequest, principal: Principal): Promise<void> {
    const { sessionId, notes } = this.#options;
    const { requestId, request } = unanswered;
    const answered = await this.#askAll(requestId, request, {
      sessionId,
      asker: undefined,
      principal,
    });
    if (this.#isStopping) return;
    await notes.keep({ permission: undefined });
    if (answered.outcome.outcome !== "selected") return;
    this.#early = { request, answered };
    this.#audit(request, answered);
    await this.#learn(request, answered);
  }

  /**
   * Called when a turn begins, which asks again for what it needs. An answer that came before the prompt
   * still counts.
   */
  turnBegins(): void {
    const open = [...this.#open.values()];
    if (open.length === 0) return;
    setImmediate(() => {
      for (const { pending } of open) pending.cancel();
    });
  }

  /** Cancels the requests of a tool call. */
  cancelFor(toolCallId: string): void {
    for (const { pending } of this.#open.values()) {
      if (pending.request.toolCall.toolCallId === toolCallId) pending.cancel();
    }
  }

  /** The process stops: open requests stay unanswered, and are asked again by the next one. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const [requestId, { pending }] of this.#open) {
      const { request } = pending;
      await this.#options.notes.keep({ permission: { requestId, request } });
    }
  }

  /**
   * Answers an open request for somebody who is not attached, and waits until the answer is stored. Throws if
   * it does not count, or cannot be stored.
   */
  async answer(requestId: string, optionId: string, who: Answerer): Promise<void> {
    const open = this.#open.get(requestId);
    if (open === undefined) {
      const why = "it was answered already, or its turn has ended";
      throw new SessionError("permission-denied", `Cannot answer the permission request: ${why}.`);
    }
    open.pending.answerAs(who, optionId);
    await open.stored;
  }

  /** Asks once all earlier updates were sent: a later one could change how the tool call is shown. */
  async #askAll(
    id: string,
    request: PermissionRequest,
    asking: AskedTurn,
  ): Promise<PermissionAnswer> {
    const { sessionId, audience, policy, noticed, closed } = this.#options;
    const refusal = (who: Answerer): string | undefined => answerRefusal(policy, asking, who);
    const tell = (client: SessionClient, news: PermissionNews): void => {
      audience.tell(client, updateOn(request, news, client.capabilities.notices));
    };
    const pending = new PendingPermission({ sessionId, id, request, refusal, tell });
    const stored = this.#askAndStore(pending);
    this.#open.set(id, { pending, stored });
    const mayAnswer = refusal({ name: "", principal: OWNER }) === undefined;
    noticed({ reason: "permission", requestId: id, request, mayAnswer });
    using ends = new DisposableStack();
    ends.defer(() => closed(id));
    ends.defer(() => this.#open.delete(id));
    return await stored;
  }

  async #askAndStore(pending: PendingPermission): Promise<PermissionAnswer> {
    const { audience, transcript } = this.#options;
    const answered = await audience.ask(pending, transcript.settled());
    const isWithdrawn = this.#isStopping && answered.outcome.outcome === "cancelled";
    if (!isWithdrawn) await this.#record(pending.id, answered);
    return answered;
  }

  async #record(requestId: string, { outcome, by }: PermissionAnswer): Promise<void> {
    await this.#options.transcript.record({ kind: "answer", requestId, outcome, by });
  }

  /** A person must see all of what they allow, so a request that is too large is refused, not cut. */
  #mustBeShown({ toolCall, options, _meta }: PermissionRequest): void {
    const { maxSize = Infinity, sessionId } = this.#options;
    const size = Buffer.byteLength(JSON.stringify({ sessionId, toolCall, options, _meta }));
    if (size <= maxSize) return;
    const why = `the question would have ${size} bytes, and at most ${maxSize} can be shown`;
    const says = `Cannot ask for permission: ${why}. Do it in several smaller steps.`;
    throw new TrunklineError("usage", says);
  }

  #answeredEarly(request: PermissionRequest): PermissionAnswer | undefined {
    const early = this.#early;
    if (early === undefined || !isSame(early.request, request)) return undefined;
    this.#early = undefined;
    const { outcome, by } = early.answered;
    const same = outcome.outcome === "selected" ? outcomeOf(request, [outcome.kind]) : undefined;
    return same && { outcome: same, by };
  }

  /** The rule of the principal that prompted. Rules of other principals do not apply. */
  async #rule(
    request: PermissionRequest,
    { id: principal }: Principal,
  ): Promise<PermissionAnswer | undefined> {
    const { rules, workspace } = this.#options;
    if (request.subject === undefined) return undefined;
    const rule = await rules?.find(workspace, subjectKey(request.subject), principal);
    if (rule === undefined) return undefined;
    const outcome = outcomeOf(request, rule.decision === "allow" ? ALLOW : REJECT);
    return outcome && { outcome, by: `rule ${rule.id}` };
  }

  #accepted(request: PermissionRequest, asking: AskedTurn): PermissionAnswer | undefined {
    const { acceptedBy: by } = request;
    const { asker, principal } = asking;
    if (by === undefined) return undefined;
    const who = asker ?? { name: "", principal };
    if (answerRefusal(this.#options.policy, asking, who) !== undefined) return undefined;
    const outcome = outcomeOf(request, ["allow_once"]);
    return outcome && { outcome, by };
  }

  async #learn(
    { subject }: PermissionRequest,
    { outcome, by, principal }: PermissionAnswer,
  ): Promise<void> {
    const { rules, workspace, sessionId: session } = this.#options;
    if (subject === undefined || principal === undefined) return;
    if (outcome.outcome !== "selected") return;
    if (!outcome.kind.endsWith("_always")) return;
    const decision = outcome.kind === "allow_always" ? "allow" : "reject";
    await rules?.add({ workspace, subject: subjectKey(subject), decision, session, by, principal });
  }

  #audit(
    { subject, toolCall }: PermissionRequest,
    { outcome, by, principal }: PermissionAnswer,
  ): void {
    const { sessionId: session, workspace, audit } = this.#options;
    const { toolCallId, title } = toolCall;
    const time = new Date().toISOString();
    audit({
      time,
      event: "permission",
      session,
      workspace,
      subject,
      toolCallId,
      title,
      outcome,
      by,
      // Left out for the owner, as in the records of calls.
      principal: principal === OWNER.id ? undefined : principal,
    });
  }
}

/** Whether two requests ask for the same thing. */
function isSame(one: PermissionRequest, other: PermissionRequest): boolean {
  if (one.subject !== undefined && other.subject !== undefined)
    return subjectKey(one.subject) === subjectKey(other.subject);
  if (one.subject !== other.subject) return false;
  const [{ title, kind, rawInput }, asked] = [one.toolCall, other.toolCall];
  return (
    title === asked.title &&
    kind === asked.kind &&
    JSON.stringify(rawInput) === JSON.stringify(asked.rawInput)
  );
}

/** What a client that was asked sees when its answer was refused, or when another client has answered. */
function updateOn(
  { toolCall: { toolCallId } }: PermissionRequest,
  news: PermissionNews,
  notices: boolean,
): SessionUpdate {
  const _meta = { trunkline: { permission: { toolCallId, ...news } } };
  if (news.state === "answered") return { sessionUpdate: "session_info_update", _meta };
  const title = notCounted(news.why);
  if (notices) return { sessionUpdate: "notice", severity: "warning", title, _meta };
  const content = { type: "text", text: `\n\n_${title}_\n\n` };
  return { sessionUpdate: "agent_message_chunk", content, _meta };
}

export interface PermissionAnswer {
  readonly outcome: PermissionOutcome;
  readonly by: string;
  /** Id of the principal that answered; undefined where a rule or a cancel did. */
  readonly principal?: string;
}

export interface PendingPermissionOptions {
  readonly sessionId: string;
  /** The id of the request in the log. */
  readonly id: string;
  readonly request: PermissionRequest;
  /** Why the answer of a client would not count; undefined if it would. */
  readonly refusal: (who: Answerer) => string | undefined;
  /** Tells a client that its answer was refused, or a client that was asked that another has answered. */
  readonly tell: (client: SessionClient, about: PermissionNews) => void;
}

/** The result of a request, for a client that was asked. */
export type PermissionNews =
  | { readonly state: "refused"; readonly why: string }
  | { readonly state: "answered"; readonly by: string; readonly outcome: PermissionOutcome };

/** An open `session/request_permission`. The first answer that counts wins. */
export class PendingPermission extends PendingAnswer<PermissionAnswer> {
  readonly id: string;
  readonly request: PermissionRequest;
  readonly #options: PendingPermissionOptions;
  /** Clients whose answer did not count. */
  readonly #refused = new Set<SessionClient>();

  constructor(options: PendingPermissionOptions) {
    super();
    this.#options = options;
    this.id = options.id;
    this.request = options.request;
  }

  override forget(client: SessionClient): void {
    super.forget(client);
    this.#refused.delete(client);
    // It may have been the only client whose answer counted. Other clients of its principal replace it.
    for (const refused of this.#refused) {
      if (this.#options.refusal(refused) !== undefined) continue;
      this.#refused.delete(refused);
      this.ask(refused);
    }
  }

  /** ACP session/cancel: open permission requests are answered with "cancelled". */
  cancel(): void {
    this.#settle({ outcome: { outcome: "cancelled" }, by: "cancel" }, "It was cancelled");
  }

  /** Answers for somebody who is not attached. Throws if the answer does not count. */
  answerAs(who: Answerer, optionId: string): void {
    const refusal = this.#options.refusal(who);
    if (refusal !== undefined) throw new SessionError("permission-denied", notCounted(refusal));
    const outcome = chosen(this.request, optionId);
    if (outcome === undefined) {
      const why = `it has no option '${optionId.slice(0, 64)}'`;
      throw new SessionError("permission-denied", `Cannot answer the permission request: ${why}.`);
    }
    this.#settle({ outcome, by: who.name, principal: who.principal.id }, OTHER_ANSWERED);
  }

  protected override mayAsk(client: SessionClient): boolean {
    return !this.#refused.has(client);
  }

  protected override send(client: SessionClient, signal: AbortSignal): Promise<unknown> {
    const { toolCall, options } = this.request;
    const { sessionId } = this.#options;
    const params = { sessionId, toolCall, options, ...this.#metaFor(client) };
    return client.ask("session/request_permission", params, { signal });
  }

  protected override answers(client: SessionClient, answer: unknown): boolean {
    const why = this.#options.refusal(client);
    if (why !== undefined) {
      this.asked.delete(client);
      this.#refused.add(client);
      this.#options.tell(client, { state: "refused", why });
      return true;
    }
    const outcome = readOutcome(answer, this.request);
    if (outcome === undefined) return false;
    const answered = { outcome, by: client.name, principal: client.principal.id };
    this.#settle(answered, OTHER_ANSWERED, client);
    return true;
  }

  /** Where no other client is left whose answer counts, the request is rejected. */
  protected override isUnable(client: SessionClient): void {
    const { refusal } = this.#options;
    if (refusal(client) !== undefined) return;
    if (this.asked.keys().some((other) => refusal(other) === undefined)) return;
    const outcome = outcomeOf(this.request, REJECT);
    this.#settle({ outcome: outcome ?? { outcome: "cancelled" }, by: client.name }, "");
  }

  #settle(answered: PermissionAnswer, why: string, by?: SessionClient): void {
    if (!this.isOver && answered.principal !== undefined) this.#tellOthers(answered, by);
    this.end(answered, why, by);
  }

  #tellOthers({ by: name, outcome }: PermissionAnswer, by: SessionClient | undefined): void {
    for (const client of [...this.asked.keys(), ...this.#refused]) {
      if (client !== by) this.#options.tell(client, { state: "answered", by: name, outcome });
    }
  }

  /** Tells a client beforehand if its answer would not count. */
  #metaFor(client: SessionClient): { readonly _meta?: object } {
    const { _meta } = this.request;
    const why = this.#options.refusal(client);
    if (why === undefined) return _meta === undefined ? {} : { _meta };
    const { trunkline } = (_meta ?? {}) as { readonly trunkline?: object };
    return { _meta: { ..._meta, trunkline: { ...trunkline, mayAnswer: false, why } } };
  }
}

const OTHER_ANSWERED = "Another client has answered";

/** What a client reads whose answer was refused. */
export function notCounted(why: string): string {
  return `Your answer does not count: ${why}.`;
}

function readOutcome(answer: unknown, request: PermissionRequest): PermissionOutcome | undefined {
  const { outcome } = (answer ?? {}) as { outcome?: { outcome?: unknown; optionId?: unknown } };
  if (outcome?.outcome === "cancelled") return { outcome: "cancelled" };
  return outcome?.outcome === "selected" ? chosen(request, outcome.optionId) : undefined;
}

function chosen({ options }: PermissionRequest, id: unknown): PermissionOutcome | undefined {
  const option = options.find(({ optionId }) => optionId === id);
  return option && { outcome: "selected", optionId: option.optionId, kind: option.kind };
}

/** The outcome for the first offered option of these kinds; undefined where none is offered. */
export function outcomeOf(
  request: PermissionRequest,
  kinds: readonly PermissionKind[],
): PermissionOutcome | undefined {
  for (const kind of kinds) {
    const option = request.options.find((one) => one.kind === kind);
    if (option !== undefined) return { outcome: "selected", optionId: option.optionId, kind };
  }
  return undefined;
}

import { TrunklineError } from "../../base/errors.ts";
import type { PendingAnswer } from "../client/audience.ts";
import type { SessionClient } from "../client/client.ts";
import { SessionError } from "../session-error.ts";
import type {
  Answerer,
  PermissionKind,
  PermissionOutcome,
  PermissionRequest,
} from "./permission.ts";

export interface Answered {
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

/**
 * An open `session/request_permission`. All attached clients are asked, and those that attach later.
 * The first answer that counts wins; the request is cancelled at the other clients.
 */
export class PendingPermission implements PendingAnswer<Answered> {
  readonly id: string;
  readonly request: PermissionRequest;
  readonly answered: Promise<Answered>;
  readonly #options: PendingPermissionOptions;
  readonly #settle: (answered: Answered) => void;
  /** The clients with an open request, and what cancels it. */
  readonly #asked = new Map<SessionClient, AbortController>();
  /** Clients that answered with an error or an unknown option. */
  readonly #unable = new Set<SessionClient>();
  /** Clients whose answer did not count. */
  readonly #refused = new Set<SessionClient>();
  #isOver = false;

  constructor(options: PendingPermissionOptions) {
    const { promise, resolve } = Promise.withResolvers<Answered>();
    this.#options = options;
    this.id = options.id;
    this.request = options.request;
    this.answered = promise;
    this.#settle = resolve;
  }

  ask(client: SessionClient): void {
    if (this.#isOver || this.#asked.has(client) || this.#unable.has(client)) return;
    if (this.#refused.has(client)) return;
    const controller = new AbortController();
    this.#asked.set(client, controller);
    const { toolCall, options } = this.request;
    const { sessionId } = this.#options;
    const params = { sessionId, toolCall, options, ...this.#metaFor(client) };
    client.ask("session/request_permission", params, { signal: controller.signal }).then(
      (answer) => this.#answer(client, answer),
      (error: unknown) => {
        // A client that lost its connection may attach again and is then asked again.
        if (error instanceof TrunklineError && error.code === "closed") this.#asked.delete(client);
        else this.#failed(client);
      },
    );
  }

  /** Cancels the request at a client that has detached. */
  forget(client: SessionClient): void {
    this.#asked
      .get(client)
      ?.abort(new TrunklineError("closed", "The client is no longer attached"));
    this.#asked.delete(client);
    this.#refused.delete(client);
    // It may have been the only one whose answer counted. Others of the same principal replace it.
    for (const refused of this.#refused) {
      if (this.#options.refusal(refused) !== undefined) continue;
      this.#refused.delete(refused);
      this.ask(refused);
    }
  }

  /** ACP session/cancel: open permission requests are answered with "cancelled". */
  cancel(): void {
    this.#end({ outcome: { outcome: "cancelled" }, by: "cancel" }, "The turn was cancelled");
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
    this.#end({ outcome, by: who.name, principal: who.principal.id }, OTHER_ANSWERED);
  }

  #answer(client: SessionClient, answer: unknown): void {
    if (this.#isOver) return;
    const why = this.#options.refusal(client);
    if (why !== undefined) {
      this.#asked.delete(client);
      this.#refused.add(client);
      this.#options.tell(client, { state: "refused", why });
      return;
    }
    const outcome = readOutcome(answer, this.request);
    if (outcome === undefined) {
      this.#failed(client);
    } else {
      const answered = { outcome, by: client.name, principal: client.principal.id };
      this.#end(answered, OTHER_ANSWERED, client);
    }
  }

  /**
   * A client that cannot answer leaves it to the others. Where no other is left whose answer counts, the
   * request is rejected.
   */
  #failed(client: SessionClient): void {
    if (!this.#asked.delete(client) || this.#isOver) return;
    this.#unable.add(client);
    const { refusal } = this.#options;
    if (refusal(client) !== undefined) return;
    if (this.#asked.keys().some((other) => refusal(other) === undefined)) return;
    const outcome = outcomeOf(this.request, ["reject_once", "reject_always"]);
    this.#end({ outcome: outcome ?? { outcome: "cancelled" }, by: client.name }, "");
  }

  #end(answered: Answered, why: string, by?: SessionClient): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (answered.principal !== undefined) this.#tellOthers(answered, by);
    if (by !== undefined) this.#asked.delete(by);
    for (const controller of this.#asked.values())
      controller.abort(new TrunklineError("cancelled", why));
    this.#asked.clear();
    this.#settle(answered);
  }

  #tellOthers({ by: name, outcome }: Answered, by: SessionClient | undefined): void {
    for (const client of [...this.#asked.keys(), ...this.#refused]) {
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

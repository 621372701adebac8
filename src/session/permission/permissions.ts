import { TrunklineError } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import type { Turn } from "../agent.ts";
import { type Answered, outcomeOf, PendingPermission } from "./ask-permission.ts";
import type { Attachments } from "../client/attachments.ts";
import type { PermissionKind, PermissionOutcome, PermissionRequest } from "./permission.ts";
import type { RuleStore } from "../store.ts";
import type { Transcript } from "../turn/transcript.ts";
import { visibleRequest } from "../visible-request.ts";

export interface PermissionRequestsOptions {
  readonly sessionId: string;
  /** The folder in which an "always" answer applies. */
  readonly workspace: string;
  readonly rules: RuleStore | undefined;
  readonly attachments: Attachments;
  readonly transcript: Transcript;
  /** Maximum size of one request, in bytes. */
  readonly maxSize: number | undefined;
  /** Records who permitted what. */
  readonly audit: (entry: object) => void;
}

const ALLOW: readonly PermissionKind[] = ["allow_once", "allow_always"];
const REJECT: readonly PermissionKind[] = ["reject_once", "reject_always"];

/** Answers the permission requests of agents: by a remembered rule, or by asking the clients. */
export class PermissionRequests {
  readonly #options: PermissionRequestsOptions;

  constructor(options: PermissionRequestsOptions) {
    this.#options = options;
  }

  async ask(
    { id: turnId, principal }: Pick<Turn, "id" | "principal">,
    asked: PermissionRequest,
  ): Promise<PermissionOutcome> {
    const { transcript } = this.#options;
    const request = visibleRequest(asked);
    const requestId = crypto.randomUUID();
    const ruled = await this.#rule(request, principal);
    if (ruled === undefined) this.#mustBeShown(request);
    await transcript.record({ kind: "permission", turnId, requestId, request });
    const answered = ruled ?? (await this.#askAll(request));
    const { outcome, by } = answered;
    await transcript.record({ kind: "answer", requestId, outcome, by });
    this.#audit(request, answered);
    if (ruled === undefined) await this.#learn(request, answered);
    return outcome;
  }

  /** Asks once all earlier updates were sent: a later one could change how the tool call is shown. */
  async #askAll(request: PermissionRequest): Promise<Answered> {
    const { sessionId, attachments, transcript } = this.#options;
    const pending = new PendingPermission(sessionId, request);
    return attachments.ask(pending, transcript.settled());
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

  /** The rule of the principal that prompted. Rules of other principals do not apply. */
  async #rule(
    request: PermissionRequest,
    { id: principal }: Principal,
  ): Promise<Answered | undefined> {
    const { rules, workspace } = this.#options;
    if (request.subject === undefined) return undefined;
    const rule = await rules?.find(workspace, request.subject, principal);
    if (rule === undefined) return undefined;
    const outcome = outcomeOf(request, rule.decision === "allow" ? ALLOW : REJECT);
    return outcome && { outcome, by: `rule ${rule.id}` };
  }

  async #learn(
    { subject }: PermissionRequest,
    { outcome, by, principal }: Answered,
  ): Promise<void> {
    const { rules, workspace, sessionId: session } = this.#options;
    if (subject === undefined || principal === undefined) return;
    if (outcome.outcome !== "selected") return;
    if (!outcome.kind.endsWith("_always")) return;
    const decision = outcome.kind === "allow_always" ? "allow" : "reject";
    await rules?.add({ workspace, subject, decision, session, by, principal });
  }

  #audit({ subject, toolCall }: PermissionRequest, { outcome, by }: Answered): void {
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
    });
  }
}

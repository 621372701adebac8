import type { Principal } from "../base/principal.ts";
import type { Turn } from "./agent.ts";
import { type Answered, outcomeOf, PendingPermission } from "./ask-permission.ts";
import type { Attendance } from "./attendance.ts";
import type { PermissionKind, PermissionOutcome, PermissionRequest } from "./permission.ts";
import type { RuleStore } from "./store.ts";
import type { Transcript } from "./transcript.ts";

export interface PermissionDeskOptions {
  readonly sessionId: string;
  /** The folder that "always" is said for. */
  readonly workspace: string;
  readonly rules: RuleStore | undefined;
  readonly attendance: Attendance;
  readonly transcript: Transcript;
  /** Records who permitted what. */
  readonly audit: (entry: object) => void;
}

const ALLOW: readonly PermissionKind[] = ["allow_once", "allow_always"];
const REJECT: readonly PermissionKind[] = ["reject_once", "reject_always"];

/** Where agents ask whether they may: people answer, or what they said once and for all. */
export class PermissionDesk {
  readonly #options: PermissionDeskOptions;

  constructor(options: PermissionDeskOptions) {
    this.#options = options;
  }

  async ask(
    { id: turnId, principal }: Pick<Turn, "id" | "principal">,
    request: PermissionRequest,
  ): Promise<PermissionOutcome> {
    const { sessionId, attendance, transcript } = this.#options;
    const requestId = crypto.randomUUID();
    const ruled = await this.#rule(request, principal);
    await transcript.record({ kind: "permission", turnId, requestId, request });
    const pending = new PendingPermission(sessionId, request);
    const answered = ruled ?? (await attendance.ask(pending, () => pending.answered));
    const { outcome, by } = answered;
    await transcript.record({ kind: "answer", requestId, outcome, by });
    this.#audit(request, answered);
    if (ruled === undefined) await this.#learn(request, answered);
    return outcome;
  }

  /** What the principal said once and for all whose turn it is. What others said is not theirs. */
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

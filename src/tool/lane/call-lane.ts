import { readTime } from "../../base/event-loop.ts";
import { maskedJson, maskedJsonOf } from "../../base/text/masked-json.ts";
import { timestamp } from "../audit.ts";
import { auditEntry } from "../audit-entry.ts";
import type { Fits } from "../schema/plain-schema.ts";
import { plainSchema } from "../schema/plain-schema.ts";
import { toolRefusal } from "../tool-access.ts";
import type { Passage, Toolbox } from "../toolbox.ts";
import { type Project, projectNow, TOLD } from "../project.ts";
import type { Arguments, PassedCall, Tool, ToolContext, ToolResult } from "../tool.ts";

const OK = `,"outcome":"ok","milliseconds":`;
const ERROR = `,"outcome":"error","milliseconds":`;
/**
 * Characters of arguments, masked, that every record holds. Calls that are read as text are so short
 * that theirs never have more, however numbers and escapes in them are spelt.
 */
const LONGEST = 48 * 1024;

/**
 * The calls of one tool by one client, where everything but the arguments' schema was decided when the
 * lane was opened: no rule, limit or observer looks at a single call. A lane is good until the tools,
 * the profiles or the policy change.
 */
export class CallLane<C extends ToolContext = ToolContext> {
  readonly tool: Tool;
  readonly fits: Fits;
  readonly pass: Tool["pass"];
  /** That of the call which the lane was opened with. */
  readonly context: C;
  readonly callerContext: PassedCall["callerContext"];
  readonly #toolbox: Toolbox;
  readonly #policy: Toolbox["policy"];
  readonly #audit: Toolbox["audit"];
  /** What a record says before and after its time, up to the arguments. */
  readonly #before: string;
  /** When it was last looked where the caller works. */
  #checkedAt = NaN;
  /** The parts of the last record that are often those of the next one, too. */
  #started = NaN;
  #ended = NaN;
  #time = "";
  #head = "";
  #took = "";

  private constructor(
    toolbox: Toolbox,
    tool: Tool,
    fits: Fits,
    context: C,
    project: Project | undefined,
  ) {
    this.tool = tool;
    this.fits = fits;
    this.pass = tool.pass;
    this.context = context;
    const { caller, session } = context;
    this.callerContext = { caller, session, project };
    this.#toolbox = toolbox;
    this.#policy = toolbox.policy;
    this.#audit = toolbox.audit;
    const { name } = tool.definition;
    const entry = auditEntry({ name, args: {}, context, tool }, 0, "ok", undefined);
    const { time: _, arguments: __, outcome: ___, milliseconds: ____, ...same } = entry;
    const record = project === undefined ? same : { ...same, project: project.folder };
    this.#before = `",${JSON.stringify(record).slice(1, -1)},"arguments":`;
  }

  /**
   * Undefined where a call has to be looked at as a whole, and "later" where that is so only until
   * the client has said where it works.
   */
  static open<C extends ToolContext>(
    toolbox: Toolbox,
    name: string,
    context: C,
  ): CallLane<C> | "later" | undefined {
    const { profile, caller } = context;
    const tool = toolbox.get(name, profile);
    if (tool === undefined || toolbox.observer !== undefined) return undefined;
    if (profile !== undefined && (profile.search !== undefined || profile.hasRates))
      return undefined;
    if (tool.limits !== undefined || tool.task === "required") return undefined;
    if (tool.project !== undefined && !mayBeTold(tool, context)) return undefined;
    if (toolRefusal(caller.principal, tool) !== undefined) return undefined;
    const subject = { tool: tool.definition.name, server: tool.source?.server, caller };
    const decisions = [toolbox.policy, profile?.policy].map((policy) => policy?.always(subject));
    if (decisions[0] !== "allow" || (profile?.policy && decisions[1] !== "allow")) return undefined;
    if (toolbox.audit !== undefined && toolbox.audit.recordText === undefined) return undefined;
    const fits = tool.checksItself === true ? () => true : plainSchema(tool.definition.inputSchema);
    if (fits === undefined) return undefined;
    const project = tool.project === undefined ? undefined : projectNow(context);
    if (tool.project !== undefined && project === undefined) return "later";
    return new CallLane(toolbox, tool, fits, context, project);
  }

  /** Whether what was decided still holds, also of where the caller works. */
  get isOpen(): boolean {
    if (this.#toolbox.policy !== this.#policy) return false;
    const { project } = this.callerContext;
    if (project === undefined) return true;
    // Calls that are read at the same time are made in the same place.
    const now = readTime();
    if (now === this.#checkedAt) return true;
    if (!isSame(project, projectNow(this.context))) return false;
    this.#checkedAt = now;
    return true;
  }

  /**
   * Records a call that was answered with a result, between two times of `now()`. Its
   * arguments are JSON text, or a value where there is no text yet. False where they are so long that
   * the record may have to leave them out: then the call has to go on in full.
   */
  record(args: string | Arguments, started: number, ended: number, isError: boolean): boolean {
    if (this.#audit === undefined) return true;
    const masked = typeof args === "string" ? maskedJson(args) : maskedJsonOf(args);
    if (masked.length > LONGEST) return false;
    if (started !== this.#started || ended !== this.#ended) {
      this.#started = started;
      this.#ended = ended;
      this.#took = String(Math.round((ended - started) * 1000) / 1000);
      const time = timestamp(ended);
      if (time !== this.#time) this.#head = `{"time":"${time}${this.#before}`;
      this.#time = time;
    }
    this.#audit.recordText?.(this.#head, masked, (isError ? ERROR : OK) + this.#took);
    return true;
  }

  /** Goes on with a call in full. */
  settle(passage: Omit<Passage, "name" | "tool">, work: Promise<ToolResult>): Promise<ToolResult> {
    const { tool } = this;
    return this.#toolbox.settle({ ...passage, name: tool.definition.name, tool }, work);
  }
}

/** Whether a tool is only told of the project, and nothing is decided by it. */
function mayBeTold({ project, pass }: Tool, { caller }: ToolContext): boolean {
  const { limits } = caller.principal;
  const isLimited = limits?.folders !== undefined || limits?.repositories !== undefined;
  return project === TOLD && pass !== undefined && !isLimited;
}

function isSame(before: Project, now: Project | undefined): boolean {
  return now !== undefined && now.folder === before.folder && now.source === before.source;
}

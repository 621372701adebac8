import { visibleLine } from "../base/text/visible.ts";
import { Registry } from "./offer/registry.ts";
import { skeleton } from "./offer/skeleton.ts";
import type { Tool, ToolDefinition, ToolSource } from "./tool.ts";

/** A tool that is not offered until a person has approved it. */
export interface HeldTool {
  readonly tool: Tool;
  readonly source: ToolSource;
  /**
   * "new": nobody has approved it yet. "changed": it has changed since. "lookalike": its name looks like
   * another tool's.
   */
  readonly why: "new" | "changed" | "lookalike";
  /** The tool whose name looks the same. */
  readonly like?: string;
}

/** The error for its callers: why it is held, and what a person can do about it. */
export function heldBecause({ tool, source, why, like = "" }: HeldTool): string {
  const matter = {
    new: "nobody has approved it yet",
    changed: "it is not what it was when it was approved",
    lookalike: `its name looks like '${visibleLine(like)}', which is another tool`,
  }[why];
  const [name, server, there] = [tool.definition.name, source.server, source.name].map(visibleLine);
  return (
    `'${name}' of '${server}' is held: ${matter}. A person can look at it with ` +
    `\`trunkline tool diff ${there}\` and let it through with ` +
    `\`trunkline tool approve ${there}\`.`
  );
}

/** The key of a held tool: held tools of all people are in one list, for whoever approves them. */
export function heldKey(name: string, person: string | undefined): string {
  return person === undefined ? name : `${name}\n${person}`;
}

type Verdict = Pick<HeldTool, "why" | "like"> | undefined;

/** A tool of another server: the verdict on it, and how to remove it from its registry. */
interface RemoteToolEntry {
  readonly verdict: Verdict;
  readonly remove: () => void;
}

/**
 * Two registries: the tools that are offered, and those that are held. A tool of another server moves
 * between them with each new verdict; our own tools are always offered.
 */
export class ToolRegistry {
  readonly offered = new Registry<Tool>("tool");
  readonly held = new Registry<HeldTool>("held tool");
  readonly #approver: Approver | undefined;
  readonly #judged = new Map<Tool, RemoteToolEntry>();
  /** Tools whose names look the same, in the order they came. */
  readonly #alike = new Map<string, Set<Tool>>();
  /** Tools that are not in `#alike` yet: while all tools are ours, no names are compared. */
  readonly #unsorted = new Set<Tool>();

  constructor(approver: Approver | undefined) {
    this.#approver = approver;
    approver?.onChange(() => this.#judgeAgain(this.#judged.keys()));
  }

  /** Returns a function that removes the tool. */
  add(tool: Tool): () => void {
    if (this.#approver === undefined) {
      return this.offered.add(tool.definition.name, tool, tool.person);
    }
    this.#unsorted.add(tool);
    const remove = this.#put(tool);
    if (this.#judged.size > 0) this.#judgeAgain(this.#alikeTo(tool), tool);
    return () => {
      (this.#judged.get(tool)?.remove ?? remove)();
      this.#judged.delete(tool);
      if (this.#unsorted.delete(tool)) return;
      const alike = this.#alikeTo(tool);
      alike.delete(tool);
      if (alike.size === 0) this.#alike.delete(skeleton(tool.definition.name));
      this.#judgeAgain(alike);
    };
  }

  /** Whether a person has approved it as it is now. */
  async vouchesFor(tool: Tool, source: ToolSource): Promise<boolean> {
    await this.#approver?.ready?.();
    return this.#approver?.vouches(source.server, describedThere(tool, source)) ?? false;
  }

  #put(tool: Tool): () => void {
    const { definition, source } = tool;
    const verdict = source === undefined ? undefined : this.#judge(tool, source);
    const remove =
      source === undefined || verdict === undefined
        ? this.offered.add(definition.name, tool, tool.person)
        : this.held.add(heldKey(definition.name, tool.person), { tool, source, ...verdict });
    if (source !== undefined) this.#judged.set(tool, { verdict, remove });
    return remove;
  }

  #judgeAgain(tools: Iterable<Tool>, except?: Tool): void {
    for (const tool of [...tools]) {
      const judged = this.#judged.get(tool);
      if (judged === undefined || tool.source === undefined || tool === except) continue;
      const now = this.#judge(tool, tool.source);
      if (now?.why === judged.verdict?.why && now?.like === judged.verdict?.like) continue;
      judged.remove();
      this.#put(tool);
    }
  }

  /** Why it is held; undefined where it is not. */
  #judge(tool: Tool, source: ToolSource): Verdict {
    const approver = this.#approver;
    if (approver === undefined) return undefined;
    const { server, name } = source;
    const described = describedThere(tool, source);
    if (approver.judge(server, described) === "held") return { why: approver.why(server, name) };
    const like = this.#likeOf(tool, server);
    const isHeld = like !== undefined && !approver.vouches(server, described);
    return isHeld ? { why: "lookalike", like } : undefined;
  }

  /** The tool that it can be mistaken for: one of our own, or of a server that was configured before. */
  #likeOf(tool: Tool, server: string): string | undefined {
    const { name } = tool.definition;
    let isBefore = true;
    for (const other of this.#alikeTo(tool)) {
      if (other === tool) isBefore = false;
      else if (other.definition.name === name || other.source?.server === server) continue;
      // A lookalike that is held itself is not offered, so it cannot be mistaken.
      else if (this.#judged.get(other)?.verdict?.why === "lookalike") continue;
      else if (isBefore || other.source === undefined) return other.definition.name;
    }
    return undefined;
  }

  #alikeTo({ definition }: Tool): Set<Tool> {
    for (const tool of this.#unsorted) {
      const looks = skeleton(tool.definition.name);
      this.#alike.set(looks, (this.#alike.get(looks) ?? new Set()).add(tool));
    }
    this.#unsorted.clear();
    return this.#alike.get(skeleton(definition.name)) ?? new Set();
  }
}

/** The tool as at its server: its name here, and its addresses, may change with the other servers. */
function describedThere({ definition }: Tool, { name, described }: ToolSource): ToolDefinition {
  return { ...(described ?? definition), name };
}

/** Says whether another server's tool may be offered as that server describes it now. */
export interface Approver {
  judge(server: string, definition: ToolDefinition): "approved" | "held";
  /** Why it is held. */
  why(server: string, name: string): "new" | "changed";
  /** Whether a person has approved it as it is described now. First use alone is no approval. */
  vouches(server: string, definition: ToolDefinition): boolean;
  /** Await it before `vouches`, where a person would be asked otherwise: approvals may be loading. */
  ready?(): Promise<void>;
  /** Calls back when a verdict may have changed. Returns how to stop it. */
  onChange(listener: () => void): () => void;
}

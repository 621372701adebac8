import type { Approver, ToolSource } from "./approver.ts";
import { Registry } from "./registry.ts";
import type { Tool } from "./tool.ts";

/** A tool that is there, but is not offered until a person has looked at it. */
export interface HeldTool {
  readonly tool: Tool;
  readonly source: ToolSource;
  /** Nobody has approved it yet, or it is not what was approved. */
  readonly why: "new" | "changed";
}

/** For whoever calls it: what is the matter, and what a person can do about it. */
export function heldBecause({ tool, source, why }: HeldTool): string {
  const { name } = tool.definition;
  const matter =
    why === "new" ? "nobody has approved it yet" : "it is not what it was when it was approved";
  return (
    `'${name}' of '${source.server}' is held: ${matter}. A person can look at it with ` +
    `\`trunkline tools diff ${source.name}\` and let it through with ` +
    `\`trunkline tools approve ${source.name}\`.`
  );
}

/**
 * The tools that are offered, and those that are held. A tool of another server passes from the one
 * to the other as it is judged; one of ours is always offered.
 */
export class Shelves {
  readonly offered = new Registry<Tool>("tool");
  readonly held = new Registry<HeldTool>("held tool");
  readonly #approver: Approver | undefined;
  /** Tools of other servers, and how to take them off the shelf they are on. */
  readonly #judged = new Map<Tool, () => void>();

  constructor(approver: Approver | undefined) {
    this.#approver = approver;
    approver?.onChange(() => {
      for (const [tool, remove] of [...this.#judged]) {
        const isHeld = this.held.get(tool.definition.name)?.tool === tool;
        if (this.#isHeld(tool) === isHeld) continue;
        remove();
        this.#judged.set(tool, this.#put(tool));
      }
    });
  }

  /** Returns how to take the tool out again. */
  add(tool: Tool): () => void {
    if (this.#approver === undefined || tool.source === undefined) return this.#put(tool);
    this.#judged.set(tool, this.#put(tool));
    return () => {
      this.#judged.get(tool)?.();
      this.#judged.delete(tool);
    };
  }

  #put(tool: Tool): () => void {
    const { definition, source } = tool;
    if (source === undefined || !this.#isHeld(tool)) return this.offered.add(definition.name, tool);
    const why = this.#approver?.why(source.server, source.name) ?? "new";
    return this.held.add(definition.name, { tool, source, why });
  }

  #isHeld({ definition, source }: Tool): boolean {
    if (this.#approver === undefined || source === undefined) return false;
    // As the server calls it: what it is called here may change with the other servers.
    const described = { ...definition, name: source.name };
    return this.#approver.judge(source.server, described) === "held";
  }
}

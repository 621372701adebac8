import type { Approvals } from "../../store/approval/approvals.ts";
import type { Approver } from "../../tool/tool-registry.ts";
import type { ToolDefinition } from "../../tool/tool.ts";

/**
 * Approvals of other servers' tools, loaded by `open` before the first such server is configured.
 */
export class LazyApprover implements Approver, AsyncDisposable {
  readonly #load: () => Promise<Approvals>;
  readonly #listeners = new Set<() => void>();
  #approvals: Approvals | undefined;
  #isTrusting = false;

  constructor(load: () => Promise<Approvals>) {
    this.#load = load;
  }

  get approvals(): Approvals | undefined {
    return this.#approvals;
  }

  async open(): Promise<void> {
    if (this.#approvals !== undefined) return;
    this.#approvals = await this.#load();
    const announce = (): void => {
      for (const listener of this.#listeners) listener();
    };
    this.#approvals.onChange(announce);
    if (this.#isTrusting) announce();
  }

  /** Until `open`, counts every tool as approved: what is remembered was approved as it is. */
  trust(): void {
    this.#isTrusting = true;
  }

  judge(server: string, definition: ToolDefinition): "approved" | "held" {
    const untold = this.#isTrusting ? "approved" : "held";
    return this.#approvals?.judge(server, definition) ?? untold;
  }

  why(server: string, name: string): "new" | "changed" {
    return this.#approvals?.why(server, name) ?? "new";
  }

  /** Until `open`, what is remembered was approved as it is. */
  vouches(server: string, definition: ToolDefinition): boolean {
    return this.#approvals?.vouches(server, definition) ?? this.#isTrusting;
  }

  ready(): Promise<void> {
    return this.open();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#approvals?.[Symbol.asyncDispose]();
  }
}

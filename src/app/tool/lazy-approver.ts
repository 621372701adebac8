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

  constructor(load: () => Promise<Approvals>) {
    this.#load = load;
  }

  get approvals(): Approvals | undefined {
    return this.#approvals;
  }

  async open(): Promise<void> {
    if (this.#approvals !== undefined) return;
    this.#approvals = await this.#load();
    this.#approvals.onChange(() => {
      for (const listener of this.#listeners) listener();
    });
  }

  judge(server: string, definition: ToolDefinition): "approved" | "held" {
    return this.#approvals?.judge(server, definition) ?? "held";
  }

  why(server: string, name: string): "new" | "changed" {
    return this.#approvals?.why(server, name) ?? "new";
  }

  vouches(server: string, definition: ToolDefinition): boolean {
    return this.#approvals?.vouches(server, definition) ?? false;
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

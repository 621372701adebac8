import type { Completion, CompletionArgument } from "./resource.ts";
import type { ToolContext, ToolSource } from "./tool.ts";

/** A text that a person starts from, with blanks to fill in. */
export interface PromptDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  readonly [member: string]: unknown;
}

export interface PromptResult {
  readonly description?: string;
  readonly messages: readonly unknown[];
  readonly [member: string]: unknown;
}

export interface Prompt {
  readonly definition: PromptDefinition;
  /** Set on another server's prompt. */
  readonly source?: ToolSource;
  get(args: Readonly<Record<string, string>>, context: ToolContext): Promise<PromptResult>;
  complete?(argument: CompletionArgument): Promise<Completion | undefined>;
}

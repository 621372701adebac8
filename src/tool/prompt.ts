import type { Completion, CompletionArgument } from "./resource.ts";
import type { ToolContext } from "./tool.ts";

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
  get(args: Readonly<Record<string, string>>, context: ToolContext): Promise<PromptResult>;
  complete?(argument: CompletionArgument): Promise<Completion | undefined>;
}

import type { Arguments, Tool, ToolContext, ToolResult } from "./tool.ts";

/** What runs before and after calls, by the owner's configuration. */
export interface CallHooks {
  /** What runs for one call; undefined where nothing does. */
  for(tool: Tool, context: ToolContext): HooksOfCall | undefined;
}

export interface HooksOfCall {
  /** Before a call that the policy allows or asks about, with arguments that fit the tool. */
  before(args: Arguments): Promise<HookedArguments>;
  /** After a call that was made: its result, the same object where nothing has changed it. */
  after(args: Arguments, result: ToolResult): Promise<ToolResult>;
}

export interface HookedArguments {
  /** Why the call is not made. */
  readonly refusal?: string | undefined;
  /** Why a person has to be asked. */
  readonly asks?: string | undefined;
  /** The changed arguments, which nobody has checked yet. */
  readonly args?: Arguments | undefined;
}

import type { CallResult, PluginStorage } from "../context.ts";
import type { Health, PluginEvent, PromptMessage, Returned } from "../definition.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Stands for a tool of another plugin. */
export type TestTool = (args: Fields) => Returned | Promise<Returned>;

export interface TestPluginOptions {
  /** What the plugin boots with. */
  readonly config?: Readonly<Record<string, string>>;
  /** The tools that `callTool` reaches, by their names. */
  readonly tools?: Readonly<Record<string, TestTool>>;
  /** Takes the lines that the plugin logs; without it they are dropped. */
  readonly log?: (line: string) => void;
}

/** A plugin under test, and an orchestrator in memory around it. */
export interface PluginHarness extends AsyncDisposable {
  /** What the plugin has published. */
  readonly published: readonly PluginEvent[];
  /** The storage that the plugin writes to. */
  readonly storage: PluginStorage;
  /** Calls a tool. Throws a `ToolError` when it fails. */
  call(name: string, args?: Fields): Promise<CallResult>;
  /** Calls a tool that answers in pieces. Leaving the loop cancels it. */
  stream(name: string, args?: Fields): AsyncGenerator<Uint8Array, void, void>;
  prompt(name: string, args?: Readonly<Record<string, string>>): Promise<PromptMessage[]>;
  /** Publishes as another plugin. Resolves when the handler is done, if the plugin wants the event. */
  publish(topic: string, type: string, payload?: Fields): Promise<void>;
  health(): Promise<Health>;
  /** Ends the plugin. Resolves to whether it ended well. */
  shutdown(): Promise<boolean>;
}

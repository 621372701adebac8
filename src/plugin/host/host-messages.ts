/** Starts a plugin in a worker. The key tells it from others, and from one of the same id before it. */
export interface StartCommand {
  readonly key: string;
  /** The module of the plugin. */
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Megabytes that its objects may take. */
  readonly memory: number;
}

/** A line on the host's standard input. */
export type HostCommand =
  | { readonly start: StartCommand }
  /** Ends a plugin's input, and the plugin itself if it is still there after a grace. */
  | { readonly end: string }
  | { readonly kill: string };

/** A line on the host's standard output: what a plugin says, or that it has ended. */
export type HostEvent =
  | { readonly key: string; readonly line: string }
  | { readonly key: string; readonly exit: number };

/** The parts of a process that the program uses, so that tests can replace them. */
export interface Host {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Output;
  readonly stderr: Output;
  cwd(): string;
  exit(code: number): void;
  /** Nothing goes on that the command has begun: the process may end with it. */
  leftNothing?(): void;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  write(text: string | Uint8Array): unknown;
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

export function isVerbose(env: NodeJS.ProcessEnv): boolean {
  return isOn(env.TRUNKLINE_VERBOSE) || isOn(env.REMOTE_JUGGLER_VERBOSE);
}

/**
 * Writes to one output, and calls `failed` if that fails. The output is opened with the first write:
 * a command that speaks a protocol on it handles failures itself.
 */
export function writer(
  output: () => Output,
  failed: (error: NodeJS.ErrnoException) => void,
): (text: string) => void {
  let opened: Output | undefined;
  return (text) => {
    if (opened === undefined) {
      opened = output();
      opened.on("error", failed);
    }
    opened.write(text);
  };
}

export function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

export function isOn(value: string | undefined): boolean {
  return isSet(value) && value !== "0" && value !== "false";
}

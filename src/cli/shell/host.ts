/** What the program needs of its process. */
export interface Host {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Output;
  readonly stderr: Output;
  cwd(): string;
  exit(code: number): void;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  write(text: string | Uint8Array): unknown;
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/** How text is shown on an output. */
export interface Style {
  /** Columns to fill at most. */
  readonly width: number;
  readonly color: boolean;
}

const WIDTH = { least: 40, usual: 80, most: 100 };

export function styleOf(output: Output, env: NodeJS.ProcessEnv): Style {
  const width = Math.max(WIDTH.least, Math.min(output.columns || WIDTH.usual, WIDTH.most));
  return { width, color: hasColor(output, env) };
}

/** https://no-color.org and https://force-color.org, the first being the stronger. */
function hasColor(output: Output, { NO_COLOR, FORCE_COLOR, TERM }: NodeJS.ProcessEnv): boolean {
  if (isSet(NO_COLOR)) return false;
  if (isSet(FORCE_COLOR)) return isOn(FORCE_COLOR);
  return output.isTTY === true && TERM !== "dumb";
}

export function isVerbose(env: NodeJS.ProcessEnv): boolean {
  return isOn(env.TRUNKLINE_VERBOSE) || isOn(env.REMOTE_JUGGLER_VERBOSE);
}

/**
 * Writes to one output, and calls `failed` when that cannot be done. The output is touched only when
 * there is something to write: a command that speaks a protocol there minds its failures itself.
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

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

function isOn(value: string | undefined): boolean {
  return isSet(value) && value !== "0" && value !== "false";
}

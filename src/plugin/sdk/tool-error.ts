/**
 * A tool could not do what it was asked. Thrown by a handler, its code and message reach the caller;
 * `callTool` throws it when another tool failed.
 */
export class ToolError extends Error {
  override readonly name = "ToolError";
  /** Short and stable, for programs: `not_found`. */
  readonly code: string;
  /** More, for programs. */
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: string, message: string, details?: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

import { diskWords } from "./errors.ts";
import { mask } from "./text/mask.ts";
import { visible } from "./text/visible.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFields = Readonly<Record<string, unknown>>;

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/**
 * Structured diagnostics: one JSON object a line, secrets masked. Everything goes to stderr, since
 * stdout may carry a protocol.
 */
export class Log {
  readonly level: LogLevel;
  readonly #write: (line: string) => void;
  readonly #context: LogFields;

  constructor(level: LogLevel, write: (line: string) => void = toStderr, context: LogFields = {}) {
    this.level = level;
    this.#write = write;
    this.#context = context;
  }

  /** The same log with more known about every line, such as a session. */
  with(context: LogFields): Log {
    return new Log(this.level, this.#write, { ...this.#context, ...context });
  }

  /** Whether a line of this level is written: ask before preparing one at a cost. */
  has(level: LogLevel): boolean {
    return RANK[level] >= RANK[this.level];
  }

  debug(event: string, fields?: LogFields): void {
    this.#log("debug", event, fields);
  }

  info(event: string, fields?: LogFields): void {
    this.#log("info", event, fields);
  }

  warn(event: string, fields?: LogFields): void {
    this.#log("warn", event, fields);
  }

  error(event: string, fields?: LogFields): void {
    this.#log("error", event, fields);
  }

  #log(level: LogLevel, event: string, fields: LogFields = {}): void {
    if (!this.has(level)) return;
    const time = new Date().toISOString();
    let line: string;
    try {
      const masked = mask(this.#worded({ ...this.#context, ...fields })) as LogFields;
      line = JSON.stringify({ time, level, event, ...masked });
    } catch (error) {
      // A field may have a getter that throws. The event is logged anyway.
      line = JSON.stringify({ time, level, event, unreadable: String(error) });
    }
    this.#write(line + "\n");
  }

  /** Disk errors are logged without their stack, unless the level is debug: a full disk is not a bug. */
  #worded(fields: LogFields): LogFields {
    if (this.has("debug")) return fields;
    const entries = Object.entries(fields).map(([name, value]) => {
      return [name, (value instanceof Error ? diskWords(value) : undefined) ?? value];
    });
    return Object.fromEntries(entries) as LogFields;
  }
}

let isGuarded = false;

function toStderr(line: string): void {
  if (!isGuarded) {
    isGuarded = true;
    // The reader of stderr may have exited; the work continues.
    process.stderr.on("error", () => {});
  }
  process.stderr.write(visible(line));
}

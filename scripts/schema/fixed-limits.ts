/** A limit that cannot be configured, but that a user can reach. */
export interface FixedLimit {
  readonly part: string;
  readonly what: string;
  readonly unit: "bytes" | "milliseconds" | "count";
  readonly value: number;
  /** What happens beyond it. */
  readonly beyond: string;
  /** The folder of src/, a file anywhere in it, and the constant there; a test checks its value. */
  readonly folder: string;
  readonly file: string;
  readonly constant: string;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const KIB = 1024;
const MIB = 1024 * KIB;

type Row = readonly [
  what: string,
  unit: FixedLimit["unit"],
  value: number,
  beyond: string,
  folderAndFile: `${string}: ${string}.ts`,
  constant: string,
];

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  "standard streams": [
    [
      "time to answer after the end of input",
      "milliseconds",
      10 * SECOND,
      "the rest is answered with an error",
      "gateway: until-over.ts",
      "INPUT_GRACE",
    ],
    [
      "time to answer after a signal",
      "milliseconds",
      800,
      "the rest is answered with an error",
      "gateway: until-over.ts",
      "SIGNAL_GRACE",
    ],
  ],
  JSON: [
    ["characters of an id", "count", 512, "answered with -32600", "rpc: id.ts", "LONGEST_ID"],
    [
      "bytes up to which a message's nesting is not checked",
      "bytes",
      8 * KIB,
      "its nesting is checked against `limits.maxDepth`",
      "rpc: complexity.ts",
      "UNSEEN",
    ],
    [
      "bytes up to which a message's work is not estimated",
      "bytes",
      64 * KIB,
      "its work is checked against `limits.maxWork`",
      "rpc: complexity.ts",
      "CHEAP",
    ],
  ],
  HTTP: [
    [
      "MCP sessions at once",
      "count",
      1_000,
      "the longest idle session of the client with most sessions is closed; 503 if none is idle",
      "protocol/mcp/serve: options.ts",
      "maxSessions",
    ],
    [
      "time without a request until an MCP session ends",
      "milliseconds",
      24 * HOUR,
      "the session is closed",
      "protocol/mcp/serve: options.ts",
      "sessionIdle",
    ],
    [
      "events of an MCP session kept for a client that reconnects",
      "count",
      1_000,
      "the oldest are dropped",
      "protocol/mcp/serve: options.ts",
      "maxLoggedEvents",
    ],
    [
      "bytes of those events",
      "bytes",
      4 * MIB,
      "the oldest are dropped",
      "protocol/mcp/serve: options.ts",
      "maxLoggedBytes",
    ],
    [
      "ACP connections over HTTP at once",
      "count",
      1_000,
      "the longest idle connection of the client with most connections is closed; 503 if none is idle",
      "protocol/acp: acp-http.ts",
      "MOST_CONNECTIONS",
    ],
    [
      "time without a stream or a request until an ACP connection over HTTP ends",
      "milliseconds",
      5 * MINUTE,
      "the connection is closed",
      "protocol/acp: acp-http.ts",
      "SILENCE",
    ],
    [
      "time between two heartbeats of a WebSocket",
      "milliseconds",
      20 * SECOND,
      "the connection is closed after two that are not answered",
      "wire: websocket-acceptor.ts",
      "HEARTBEAT",
    ],
  ],
  access: [
    [
      "wrong tokens from one address in a minute",
      "count",
      20,
      "answered with 429 until the minute is over",
      "gateway: failed-attempts.ts",
      "LIMIT",
    ],
    [
      "time that a login link can be used",
      "milliseconds",
      15 * MINUTE,
      "`trunkline open` makes another",
      "store: login-codes.ts",
      "GOOD_FOR",
    ],
    [
      "time that a browser stays logged in",
      "milliseconds",
      12 * HOUR,
      "it needs another link",
      "store: devices.ts",
      "BROWSER_GOOD_FOR",
    ],
    [
      "time that a paired device stays logged in after it was last used",
      "milliseconds",
      30 * 24 * HOUR,
      "it needs another link: `trunkline open --qr`",
      "store: devices.ts",
      "PAIRED_GOOD_FOR",
    ],
    [
      "access tokens",
      "count",
      1_000,
      "`trunkline token create` fails until one is revoked",
      "store: access-tokens.ts",
      "MOST",
    ],
  ],
  configuration: [
    [
      "bytes of a configuration file",
      "bytes",
      1 * MIB,
      "the file is refused",
      "gateway: files.ts",
      "MAX_SIZE",
    ],
  ],
  sessions: [
    [
      "updates that wait for one client",
      "count",
      1_000,
      "the client is told to resume",
      "session: limits.ts",
      "updates",
    ],
    [
      "time that an agent has to end a cancelled turn",
      "milliseconds",
      5 * SECOND,
      "the turn ends without it",
      "session: limits.ts",
      "cancelGrace",
    ],
  ],
  agent: [
    [
      "bytes of a file that is read or written",
      "bytes",
      10 * MIB,
      "refused with -31702",
      "agent: turn-files.ts",
      "LARGEST_FILE",
    ],
    [
      "lines of one `read_file`",
      "count",
      2_000,
      "the model can read on from a later line",
      "agent: read-file.ts",
      "MOST_LINES",
    ],
    [
      "longest time that a model can set for one command",
      "milliseconds",
      30 * MINUTE,
      "a longer time is refused",
      "agent: run-command.ts",
      "LONGEST",
    ],
    [
      "tools that a model is offered",
      "count",
      128,
      "the rest is left out, and the session says so",
      "agent: toolbox-tools.ts",
      "MOST_TOOLS",
    ],
    [
      "turns that can be undone",
      "count",
      20,
      "older ones cannot be",
      "agent: journal.ts",
      "MOST_TURNS",
    ],
    [
      "open terminals of an agent",
      "count",
      32,
      "it has to release one first",
      "agent: external-terminals.ts",
      "MOST",
    ],
  ],
  "MCP servers": [
    [
      "instances of one server for clients of their own, besides the first",
      "count",
      32,
      "the one that is idle for longest is ended; if none is, the call is answered with an error",
      "upstream: settings.ts",
      "instances",
    ],
    [
      "time without a call until such an instance ends",
      "milliseconds",
      30 * MINUTE,
      "the next call starts another",
      "upstream: settings.ts",
      "instanceIdle",
    ],
  ],
  "MCP tasks": [
    [
      "tasks at once",
      "count",
      10_000,
      "a further one is refused with -32603",
      "protocol/mcp/serve: tasks.ts",
      "MOST",
    ],
    [
      "longest time that a client can ask to keep a task",
      "milliseconds",
      24 * HOUR,
      "the task is kept that long",
      "protocol/mcp/serve: tasks.ts",
      "LONGEST_TTL",
    ],
  ],
  "other MCP servers": [
    [
      "entries of one list",
      "count",
      20_000,
      "the rest is left out, and the log says so",
      "protocol/mcp/connect: lists.ts",
      "MOST_ITEMS",
    ],
    [
      "bytes of one list",
      "bytes",
      32 * MIB,
      "the rest is left out, and the log says so",
      "protocol/mcp/connect: lists.ts",
      "LARGEST",
    ],
  ],
  review: [
    [
      "characters of a comment",
      "count",
      100_000,
      "refused",
      "review: add-comment.ts",
      "LONGEST_COMMENT",
    ],
    [
      "bytes of a drop file",
      "bytes",
      8 * MIB,
      "it is not imported",
      "review: drop-files.ts",
      "LARGEST",
    ],
  ],
  git: [
    [
      "time of one git command on this machine",
      "milliseconds",
      30 * SECOND,
      "it is stopped, and the operation that needed it fails",
      "git: git.ts",
      "TIMEOUT",
    ],
    [
      "bytes that it prints",
      "bytes",
      64 * MIB,
      "it is stopped, and the operation that needed it fails",
      "git: git.ts",
      "MAX_OUTPUT",
    ],
  ],
  identities: [
    [
      "time that a pass of the guard lasts",
      "milliseconds",
      10 * MINUTE,
      "the guard refuses again",
      "identity: guard-pass.ts",
      "LASTS",
    ],
    [
      "switches that can be undone",
      "count",
      50,
      "older ones cannot be",
      "identity: journal.ts",
      "KEPT",
    ],
  ],
  "plugin bus": [
    [
      "bytes of one frame",
      "bytes",
      16 * MIB,
      "the exchange is aborted",
      "wire: length-prefixed.ts",
      "MAX_FRAME",
    ],
    [
      "running requests of a plugin",
      "count",
      2_048,
      "a further one is refused",
      "plugin: guest-guard.ts",
      "exchanges",
    ],
    [
      "subscriptions of one plugin",
      "count",
      256,
      "a further one is refused",
      "plugin: events.ts",
      "MOST_SUBSCRIPTIONS",
    ],
    [
      "events of one source that wait for a subscriber",
      "count",
      1_000,
      "the oldest are dropped",
      "plugin: event-queue.ts",
      "MOST_EVENTS",
    ],
    [
      "documents in a folder that is listed",
      "count",
      100_000,
      "the list is refused",
      "plugin: storage.ts",
      "MAX_ENTRIES",
    ],
  ],
};

export const FIXED_LIMITS: readonly FixedLimit[] = Object.entries(ROWS).flatMap(([part, rows]) =>
  rows.map(([what, unit, value, beyond, where, constant]) => {
    const [folder = "", file = ""] = where.split(": ");
    return { part, what, unit, value, beyond, folder, file, constant };
  }),
);

import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";

import { parse, type ParseError, printParseErrorCode } from "jsonc-parser";

import { isObject } from "../base/check.ts";
import { homeOf } from "../base/process/environment.ts";
import { findTooDeep, TOO_DEEP } from "../config/file/parse-file.ts";
import { setInJsonc } from "../config/file/set-in-jsonc.ts";
import { type Format, type KeyPath } from "./format/format.ts";
import { toml } from "./format/toml.ts";
import { yaml, yamlList } from "./format/yaml.ts";

/** The folders in which programs keep their configuration. */
export interface ProgramFolders {
  readonly home: string;
  /** `$XDG_CONFIG_HOME`, which is usually `~/.config`. */
  readonly config: string;
  /** Where desktop programs keep theirs: the same on Linux, elsewhere another. */
  readonly support: string;
  readonly isWindows: boolean;
  readonly isMac: boolean;
  /** A folder or file that a variable names, if it does. */
  readonly named: (variable: string) => string | undefined;
  readonly exists: (path: string) => boolean;
}

export function placesOf(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): ProgramFolders {
  const named = (variable: string): string | undefined => {
    const value = env[variable];
    return value !== undefined && isAbsolute(value) ? value : undefined;
  };
  const home = homeOf(env);
  const config = named("XDG_CONFIG_HOME") ?? join(home, ".config");
  const [isWindows, isMac] = [platform === "win32", platform === "darwin"];
  const roaming = named("APPDATA") ?? join(home, "AppData", "Roaming");
  const library = join(home, "Library", "Application Support");
  const support = isWindows ? roaming : isMac ? library : config;
  return { home, config, support, isWindows, isMac, named, exists: existsSync };
}

/** JSON, with the comments and trailing commas that many programs allow. */
export const json: Format = {
  read(text) {
    if (text.trim() === "") return {};
    if (findTooDeep(text) !== undefined) throw new Error(`it is ${TOO_DEEP}`);
    const errors: ParseError[] = [];
    const value: unknown = parse(text, errors, { allowTrailingComma: true });
    const [first] = errors;
    if (first === undefined && isObject(value)) return value;
    const line = text.slice(0, first?.offset ?? 0).split("\n").length;
    const detail =
      first === undefined ? "" : ` (line ${line}: ${printParseErrorCode(first.error)})`;
    throw new Error(`it is not a JSON object${detail}`);
  },

  set: (text, path, value) => setInJsonc(text.trim() === "" ? "{}\n" : text, path, value),
};

/** A program that can be set up by an entry in a file of its own. */
export interface SetupTarget {
  readonly name: string;
  readonly label: string;
  /** Commands that show that it is installed. */
  readonly programs: readonly string[];
  /** A folder that it has once it has run. */
  readonly folder: (places: ProgramFolders) => string;
  readonly file: (places: ProgramFolders) => string;
  readonly format: Format;
  /** What a new file begins with, where an empty one is not enough. */
  readonly start?: string;
  readonly entries: readonly TargetEntry[];
  /** Why it has no HTTP form. */
  readonly noHttp?: string;
  /** What a person has to know or do once it is set up. */
  readonly note?: string;
}

/** Our entry in one of its roles: a client of our tools (MCP), or of our agents (ACP). */
interface TargetEntry {
  readonly role: "mcp" | "acp";
  readonly path: KeyPath;
  readonly stdio: (start: StartCommand) => SetupEntry;
  /** Over HTTP; where there is none, the entry is the one on standard streams. */
  readonly http?: (url: string, authorization: Headers) => SetupEntry;
}

type SetupEntry = Readonly<Record<string, unknown>>;

/** `trunkline mcp` or `trunkline acp`, by absolute paths. */
export interface StartCommand {
  readonly command: string;
  readonly args: readonly string[];
}

interface Headers {
  readonly Authorization: string;
}

/** Codex passes hardly any variables on to a server; Trunkline uses these. */
const CODEX_VARIABLES = [
  ...["TRUNKLINE_DATA", "TRUNKLINE_CONFIG", "XDG_CONFIG_HOME", "XDG_STATE_HOME"],
  ...["XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"],
];

/** Gemini CLI leaves out variables whose names sound secret, and this one has AUTH in it. */
const GEMINI_VARIABLES = { SSH_AUTH_SOCK: "${SSH_AUTH_SOCK:-}" };

/** Seconds that a call may take: a tool may ask a person. */
const GOOSE_TIMEOUT = 300;

const plain = ({ command, args }: StartCommand): SetupEntry => ({ command, args });
const typed = (start: StartCommand): SetupEntry => ({ type: "stdio", ...plain(start) });

function mcp(
  container: string,
  stdio: TargetEntry["stdio"],
  http?: TargetEntry["http"],
): TargetEntry {
  return { role: "mcp", path: [container, "trunkline"], stdio, ...(http && { http }) };
}

function acp(stdio: TargetEntry["stdio"]): TargetEntry {
  return { role: "acp", path: ["agent_servers", "Trunkline"], stdio };
}

export const TARGETS: readonly SetupTarget[] = [
  {
    name: "claude-code",
    label: "Claude Code",
    programs: ["claude"],
    folder: ({ home, named }) => named("CLAUDE_CONFIG_DIR") ?? join(home, ".claude"),
    file: ({ home, named }) => join(named("CLAUDE_CONFIG_DIR") ?? home, ".claude.json"),
    format: json,
    entries: [mcp("mcpServers", typed, (url, headers) => ({ type: "http", url, headers }))],
  },
  {
    name: "claude-desktop",
    label: "Claude Desktop",
    programs: [],
    folder: ({ support }) => join(support, "Claude"),
    file: ({ support }) => join(support, "Claude", "claude_desktop_config.json"),
    format: json,
    entries: [mcp("mcpServers", plain)],
    noHttp: "it skips an entry with a URL, or does not start",
    note: "Quit Claude Desktop and start it again.",
  },
  {
    name: "cursor",
    label: "Cursor",
    programs: ["cursor", "cursor-agent"],
    folder: ({ home }) => join(home, ".cursor"),
    file: ({ home }) => join(home, ".cursor", "mcp.json"),
    format: json,
    entries: [mcp("mcpServers", plain, (url, headers) => ({ url, headers }))],
  },
  {
    name: "vscode",
    label: "VS Code",
    programs: ["code"],
    folder: ({ support }) => join(support, "Code"),
    file: ({ support }) => join(support, "Code", "User", "mcp.json"),
    format: json,
    entries: [mcp("servers", typed, (url, headers) => ({ type: "http", url, headers }))],
    note: "It is in the default profile; other profiles have a file of their own.",
  },
  {
    name: "codex",
    label: "Codex",
    programs: ["codex"],
    folder: ({ home, named }) => named("CODEX_HOME") ?? join(home, ".codex"),
    file: ({ home, named }) => join(named("CODEX_HOME") ?? join(home, ".codex"), "config.toml"),
    format: toml,
    entries: [
      mcp(
        "mcp_servers",
        (start) => ({ ...plain(start), env_vars: CODEX_VARIABLES }),
        (url, headers) => ({ url, http_headers: headers }),
      ),
    ],
  },
  {
    name: "zed",
    label: "Zed",
    programs: ["zed", "zeditor"],
    folder: zedFolder,
    file: (places) => join(zedFolder(places), "settings.json"),
    format: json,
    entries: [
      mcp("context_servers", plain, (url, headers) => ({ url, headers })),
      acp((start) => ({ type: "custom", ...plain(start) })),
    ],
    note: "Choose Trunkline when you begin a new thread.",
  },
  {
    name: "jetbrains",
    label: "JetBrains IDEs",
    programs: ["idea", "pycharm", "webstorm", "goland", "clion", "rider", "rustrover", "phpstorm"],
    folder: ({ home }) => join(home, ".jetbrains"),
    file: ({ home }) => join(home, ".jetbrains", "acp.json"),
    format: json,
    entries: [acp(plain)],
    noHttp: "it reaches a gateway by WebSocket: use --remote ws://127.0.0.1:4180/acp",
    note:
      "Choose Trunkline in AI Chat. For the tools alone, add an MCP server by hand: Settings, Tools, " +
      "AI Assistant, Model Context Protocol; `trunkline setup cursor --print` shows what to paste.",
  },
  {
    name: "gemini",
    label: "Gemini CLI",
    programs: ["gemini"],
    folder: geminiFolder,
    file: (places) => join(geminiFolder(places), "settings.json"),
    format: json,
    entries: [
      mcp(
        "mcpServers",
        (start) => ({ ...plain(start), env: GEMINI_VARIABLES }),
        (url, headers) => ({ type: "http", url, headers }),
      ),
    ],
    note: "Gemini CLI starts no servers in a folder that you have not trusted.",
  },
  {
    name: "opencode",
    label: "opencode",
    programs: ["opencode"],
    folder: ({ config }) => join(config, "opencode"),
    file: opencodeFile,
    format: json,
    entries: [
      mcp(
        "mcp",
        ({ command, args }) => ({ type: "local", command: [command, ...args] }),
        (url, headers) => ({ type: "remote", url, headers }),
      ),
    ],
  },
  {
    name: "goose",
    label: "goose",
    programs: ["goose"],
    folder: gooseFolder,
    file: (places) => join(gooseFolder(places), "config.yaml"),
    format: yaml,
    entries: [
      mcp(
        "extensions",
        ({ command, args }) => gooseExtension({ type: "stdio", cmd: command, args }),
        (uri, headers) => gooseExtension({ type: "streamable_http", uri, headers }),
      ),
    ],
  },
  {
    name: "windsurf",
    label: "Windsurf",
    programs: ["windsurf"],
    folder: ({ home }) => join(home, ".codeium", "windsurf"),
    file: ({ home }) => join(home, ".codeium", "windsurf", "mcp_config.json"),
    format: json,
    entries: [mcp("mcpServers", plain, (serverUrl, headers) => ({ serverUrl, headers }))],
  },
  {
    name: "cline",
    label: "Cline",
    programs: ["cline"],
    folder: ({ home }) => join(home, ".cline"),
    file: ({ home, named }) =>
      named("CLINE_MCP_SETTINGS_PATH") ??
      join(home, ".cline", "data", "settings", "cline_mcp_settings.json"),
    format: json,
    entries: [
      // Without a type, Cline takes a URL for the transport of 2024.
      mcp("mcpServers", plain, (url, headers) => ({ type: "streamableHttp", url, headers })),
    ],
  },
  {
    name: "continue",
    label: "Continue",
    programs: ["cn"],
    folder: ({ home }) => join(home, ".continue"),
    file: ({ home }) => join(home, ".continue", "config.yaml"),
    format: yamlList,
    start: "name: Local Config\nversion: 1.0.0\nschema: v1\n",
    entries: [
      mcp(
        "mcpServers",
        (start) => ({ name: "trunkline", ...plain(start) }),
        (url, headers) => ({
          name: "trunkline",
          type: "streamable-http",
          url,
          requestOptions: { headers },
        }),
      ),
    ],
  },
];

function gooseExtension(entry: SetupEntry): SetupEntry {
  const description = "Trunkline: git identities, reviews, plugins and other servers";
  return { enabled: true, name: "trunkline", description, ...entry, timeout: GOOSE_TIMEOUT };
}

function zedFolder({ home, config, support, isWindows, isMac, named }: ProgramFolders): string {
  if (isWindows) return join(support, "Zed");
  if (isMac) return join(home, ".config", "zed");
  return join(named("FLATPAK_XDG_CONFIG_HOME") ?? config, "zed");
}

function geminiFolder({ home, named }: ProgramFolders): string {
  return join(named("GEMINI_CLI_HOME") ?? home, ".gemini");
}

function gooseFolder({ home, support, isWindows, named }: ProgramFolders): string {
  const root = named("GOOSE_PATH_ROOT");
  if (root !== undefined) return join(root, "config");
  return isWindows ? join(support, "Block", "goose", "config") : join(home, ".config", "goose");
}

/** opencode reads both names, and the second wins. */
function opencodeFile({ config, named, exists }: ProgramFolders): string {
  const folder = join(config, "opencode");
  const commented = join(folder, "opencode.jsonc");
  return (
    named("OPENCODE_CONFIG") ?? (exists(commented) ? commented : join(folder, "opencode.json"))
  );
}

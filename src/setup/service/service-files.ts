import { posix } from "node:path";

/** What the service manager is told. */
export interface ServiceWords {
  /** The program and its arguments, absolute. */
  readonly command: readonly string[];
  /** Folders of programs; all absolute. */
  readonly path: string;
  /** Options of `serve` that a later installation keeps. */
  readonly kept: readonly string[];
}

/** Name of the service at systemd, and of its file. */
export const UNIT = "trunkline.service";
/** Name of the service at launchd. */
export const LABEL = "dev.trunkline.serve";
/** Name of the task on Windows. */
const TASK = "Trunkline";

/** systemd.unit(5): a setting whose name begins with `X-` is ours; systemd does not read it. */
const KEPT = "X-Trunkline-Options";

/**
 * A unit of the user's systemd. MemoryDenyWriteExecute would end Node, and what protects folders would
 * keep agents from the files that they are to edit.
 */
export function unitText({ command, path, kept }: ServiceWords): string {
  return `# Written by \`trunkline service install\`; it will be overwritten.
[Unit]
Description=Trunkline gateway
StartLimitIntervalSec=60
StartLimitBurst=5
${KEPT}=${JSON.stringify(kept)}

[Service]
Type=exec
ExecStart=${command.map(unitWord).join(" ")}
Environment=${unitWord(`PATH=${path}`)}
Restart=on-failure
RestartSec=1
# The gateway ends its agents itself, after it has saved their work.
KillMode=mixed
TimeoutStopSec=20
UMask=0077
OOMPolicy=continue
LockPersonality=yes
NoNewPrivileges=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes

[Install]
WantedBy=default.target
`;
}

/** systemd.syntax(7), systemd.service(5) § Command Lines: quotes, specifiers and variables. */
function unitWord(word: string): string {
  const plain = word
    .replaceAll("\\", "\\\\")
    .replaceAll('"', String.raw`\"`)
    .replaceAll("\n", String.raw`\n`)
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$");
  return `"${plain}"`;
}

/** The kept options of an installed unit or agent; none if it has none. */
export function keptOptions(text: string): string[] {
  const [, unit, plist] = /^X-Trunkline-Options=(.*)$|<!-- options (.*?) -->/m.exec(text) ?? [];
  try {
    const value: unknown = JSON.parse(unit ?? plist ?? "[]");
    return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

/** launchd.plist(5): an agent of the user. It is started again if it fails. */
export function plistText({ command, path, kept }: ServiceWords, home: string): string {
  const log = posix.join(home, "Library/Logs/trunkline.log");
  const text = (value: string): string => `<string>${escapeXml(value)}</string>`;
  // A comment of XML must not contain two hyphens.
  const comment = JSON.stringify(kept).replaceAll("-", String.raw`\u002d`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- options ${comment} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  ${text(LABEL)}
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    ${text(word)}`).join("\n")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    ${text(path)}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardOutPath</key>
  ${text(log)}
  <key>StandardErrorPath</key>
  ${text(log)}
</dict>
</plist>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The command that creates a task which starts the gateway at each login, for Windows. */
export function taskCommand({ command }: Pick<ServiceWords, "command">): string {
  const line = command.map((word) => String.raw`\"${word}\"`).join(" ");
  return `schtasks /Create /TN ${TASK} /SC ONLOGON /RL LIMITED /F /TR "${line}"`;
}

import { shellWord } from "../../base/text/shell-word.ts";
import { VERSION } from "../../base/version.ts";
import { paint } from "../shell/layout.ts";

export interface WelcomeOptions {
  /** Address of the gateway for this machine, without a path. */
  readonly url: string;
  /** Address for other machines. */
  readonly publicUrl?: string | undefined;
  readonly tokenFile: string;
  /** A one-time login link, if a person reads this. */
  readonly login?: string | undefined;
  readonly noAuth?: boolean | undefined;
  /** What a person types before a command, and after it, so that it uses the same files. */
  readonly command: { readonly program: string; readonly options: readonly string[] };
  readonly color: boolean;
}

export const NO_AUTH_WARNING =
  "--no-auth: EVERY USER OF THIS MACHINE, AND EVERY PROGRAM ON IT, CAN USE THIS GATEWAY AS YOU. It " +
  "is for development only. Web pages of other origins, and clients that name commands to run, are " +
  "still refused.";

/**
 * What a person reads when the gateway has started, with a command that connects an assistant: it gives
 * the assistant a token of its own, and shows no token to anyone.
 */
export function serveWelcome(options: WelcomeOptions): string {
  const { url, publicUrl = url, tokenFile, login, noAuth = false, color } = options;
  const { program, options: files } = options.command;
  const typed = (words: string): string => [program, words, ...files.map(shellWord)].join(" ");
  const mcp = `${publicUrl}/mcp`;
  const acp = `${publicUrl.replace("http", "ws")}/acp`;
  const lines = [
    paint("bold", `Trunkline ${VERSION} is running.`, color),
    "",
    `  MCP      ${mcp}   for assistants`,
    `  ACP      ${acp}     for editors`,
    `  Browser  ${login ?? `run \`${typed("open")}\``}`,
    ...(login === undefined
      ? []
      : [`           works once, within 15 minutes; for another run \`${typed("open")}\``]),
    ...(noAuth ? [] : [`  Token    ${tokenFile}`]),
    "",
    "Next: connect an assistant, for example Claude Code:",
    `  ${typed("setup claude-code --http")}`,
    ...(publicUrl === url
      ? []
      : [`Other machines need their own token: ${typed("token create NAME")}`]),
    "Stop with Ctrl-C.",
  ];
  return `${lines.join("\n")}\n`;
}

import { VERSION } from "../../base/version.ts";
import { paint } from "../shell/style.ts";

export interface WelcomeOptions {
  /** Where this machine reaches the gateway, without a path. */
  readonly url: string;
  /** Where others do. */
  readonly publicUrl?: string | undefined;
  readonly tokenFile: string;
  /** A link that lets a browser in, where a person reads this. */
  readonly login?: string | undefined;
  readonly noAuth?: boolean | undefined;
  readonly color: boolean;
}

export const NO_AUTH_WARNING =
  "--no-auth: EVERYBODY WHO CAN LOG IN TO THIS MACHINE, AND EVERY PROGRAM ON IT, CAN USE THIS " +
  "GATEWAY AS YOU. It is for development. Pages of other origins, and commands that clients name, " +
  "are still refused.";

/**
 * What a person reads when the gateway has started: from here, one paste connects an assistant. The
 * command reads the token's file rather than showing the token, so that it is neither on the screen
 * nor in the history of the shell.
 */
export function serveWelcome(options: WelcomeOptions): string {
  const { url, publicUrl = url, tokenFile, login, noAuth = false, color } = options;
  const mcp = `${publicUrl}/mcp`;
  const acp = `${publicUrl.replace("http", "ws")}/acp`;
  const header = `"Authorization: Bearer $(cat ${shellWord(tokenFile)})"`;
  const command = `claude mcp add --transport http trunkline ${url}/mcp`;
  const lines = [
    paint("bold", `Trunkline ${VERSION} is running.`, color),
    "",
    `  MCP      ${mcp}   for assistants`,
    `  ACP      ${acp}     for editors`,
    `  Browser  ${login ?? "run `trunkline open`"}`,
    ...(login === undefined
      ? []
      : ["           once, within 15 minutes; then run `trunkline open`"]),
    ...(noAuth ? [] : [`  Token    ${tokenFile}`]),
    "",
    "Next: connect an assistant, for example",
    ...(noAuth ? [`  ${command}`] : [`  ${command} \\`, `    --header ${header}`]),
    ...(publicUrl === url
      ? []
      : ["From another machine, with a token of its own: trunkline token create NAME"]),
    "Stop with Ctrl-C.",
  ];
  return `${lines.join("\n")}\n`;
}

/** A text as one word of a POSIX shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

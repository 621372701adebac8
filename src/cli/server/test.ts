import { visibleLine } from "../../base/text/visible.ts";
import type { Config } from "../../config/config.ts";
import { AppContext } from "../../gateway/app-context.ts";
import { openTools } from "../../app/tool/open-tools.ts";
import type { UpstreamStatus } from "../../upstream/upstream.ts";
import type { Invocation } from "../shell/command.ts";
import { counted, firstLine, table } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { namedServer } from "./named-server.ts";

/** Milliseconds after which it is said that we wait. */
const SLOW = 3_000;

/** `trunkline server test NAME` */
export async function test(invocation: Invocation<{ readonly json?: boolean }>): Promise<number> {
  const { values, positionals, out, err } = invocation;
  const [name = ""] = positionals;
  const { config } = await openQuietApp(invocation);
  await using opened = await openTools(new AppContext(alone(config, name)));
  const started = performance.now();
  const slow = setTimeout(() => {
    err(`'${visibleLine(name)}' is still starting. Its first start may download it.\n`);
  }, SLOW);
  await opened.started().finally(() => clearTimeout(slow));
  const milliseconds = Math.round(performance.now() - started);
  const [status] = opened.status();
  const { tools } = opened.offer;
  const offered = tools.list().filter(({ source }) => source?.server === name);
  const held = tools.held().filter(({ source }) => source.server === name);
  const works = status?.state === "up" && status.listError === undefined;
  if (values.json === true) {
    const names = offered.map(({ definition }) => definition.name);
    const heldNames = held.map(({ tool }) => tool.definition.name);
    out(`${JSON.stringify({ ...status, milliseconds, tools: names, held: heldNames }, null, 2)}\n`);
    return works ? 0 : 1;
  }
  if (!works) {
    err(failureText(name, status));
    return 1;
  }
  const count = offered.length + held.length;
  const speaks = status.revision === undefined ? "" : `, MCP ${status.revision}`;
  out(
    `'${visibleLine(name)}' works: ${counted(count, "tool")} after ${milliseconds} ms${speaks}.\n`,
  );
  if (count === 0) out(`It has no tools: ${visibleLine(status.noTools ?? "all are hidden")}.\n`);
  const rows = [
    ...offered.map(({ definition }) => toolRow(definition)),
    ...held.map(({ tool }) => toolRow(tool.definition, "(held) ")),
  ];
  out(table(rows));
  if (held.length > 0) err("Check held tools with `trunkline tools diff`.\n");
  return 0;
}

/** The configuration with this server only: nothing else is started. */
function alone(config: Config, name: string): Config {
  const { bus, log } = config;
  const settings = namedServer(config, name, "test");
  return {
    ...config,
    mcpServers: { [name]: settings },
    bus: { ...bus, plugins: {} },
    // What went wrong is said once, in our own words.
    log: log.verbose ? log : { level: "error", verbose: false, requests: false },
  };
}

function failureText(name: string, status: UpstreamStatus | undefined): string {
  const list = status?.listError && `it could not list its tools: ${status.listError}`;
  const why = list ?? status?.lastError ?? "it did not start";
  // The error may quote its last line, and a server that is tried twice says the same twice.
  const lines = [...new Set(status?.said)].filter((line) => !why.includes(line)).slice(-5);
  const said = lines.map((line) => `  ${visibleLine(line)}\n`);
  const heard = said.length === 0 ? "" : `Its last output:\n${said.join("")}`;
  return `'${visibleLine(name)}' does not work: ${visibleLine(why)}\n${heard}`;
}

function toolRow(
  { name, title, description }: { name: string; title?: unknown; description?: unknown },
  mark = "",
): string[] {
  const says = [title, description].find((text) => typeof text === "string");
  return [`  ${name}`, `${mark}${firstLine(says ?? "")}`];
}

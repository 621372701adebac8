import { askGateway } from "../../base/ask-gateway.ts";
import { isObject } from "../../base/check.ts";
import { TrunklineError } from "../../base/errors.ts";
import { OWNER } from "../../base/principal.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { RunDetail, RunPatch } from "../../server/dashboard/api.ts";
import { runRoutes, runsOn } from "../../server/dashboard/view/runs.ts";
import { SessionReader } from "../../store/session/session-reader.ts";
import { rowsOf } from "../chat/session-choice.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { gatewayOf, httpGateway } from "../shell/gateway-url.ts";
import { firstLine, linesText, paintLines, print, type StyleName, table } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";

type ResultInvocation = Invocation<OptionValues<"url">>;

/** `trunkline run show ID` */
export async function show(invocation: ResultInvocation): Promise<number> {
  const detail = await detailOf(invocation);
  const { row, files, missing } = detail;
  const at = (time: number): string => new Date(time).toISOString();
  const facts: (readonly [string, string | undefined])[] = [
    ["id", row.id],
    ["title", row.title && firstLine(row.title)],
    ["repository", row.repository],
    ["from", `${row.branch} ${row.revision}`.trim()],
    ["branch", row.target],
    ["pushed", row.pushed],
    ["pull request", row.pullRequest],
    ["state", row.stage],
    ["agent", row.agent],
    ["last used", at(row.updated)],
    ["fetch", row.fetch],
  ];
  const rows = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [[name, visibleLine(value)]],
  );
  const changed = files.map(({ path, added, removed }) => {
    return [visibleLine(path), `+${added}`, `-${removed}`];
  });
  const text = [table(rows), ...(changed.length === 0 ? [] : ["\n", table(changed)])].join("");
  return print(invocation, detail, text, { notes: missing === undefined ? [] : [missing] });
}

/** `trunkline run log ID` */
export async function log(invocation: ResultInvocation): Promise<number> {
  const detail = await detailOf(invocation);
  const lines = detail.log.map(({ at, says }) => `${new Date(at).toISOString()}  ${says}`);
  const setup = detail.setup === undefined ? "" : `\nThe log of set-up:\n${detail.setup}`;
  return print(invocation, { log: detail.log, setup: detail.setup }, linesText(lines) + setup);
}

const STYLES: Readonly<Record<string, StyleName>> = { "+": "green", "-": "red", "@": "cyan" };

/** `trunkline run diff ID` */
export async function diff(invocation: ResultInvocation): Promise<number> {
  const found = await read<RunPatch>(invocation, "patch");
  const lines = found.patch
    .trimEnd()
    .split("\n")
    .map((line) => {
      const style = STYLES[line.slice(0, 1)];
      return style === undefined ? line : paintLines(style, line, invocation.color);
    });
  return print(invocation, found, found.patch === "" ? "" : linesText(lines));
}

/** `trunkline run patch ID` */
export async function patch(invocation: ResultInvocation): Promise<number> {
  const found = await read<RunPatch>(invocation, "patch");
  if (invocation.values.json === true) return print(invocation, found, "");
  invocation.data(found.patch);
  return 0;
}

function detailOf(invocation: ResultInvocation): Promise<RunDetail> {
  return read<RunDetail>(invocation, "detail");
}

/** What a gateway at --url knows of a run; else what is stored here. */
async function read<T>(invocation: ResultInvocation, what: "detail" | "patch"): Promise<T> {
  const [id = ""] = invocation.positionals;
  const acp = gatewayOf(invocation);
  const { config } = await openQuietApp(invocation);
  if (acp === undefined) {
    using reader = await SessionReader.open(config.data);
    return (await runRoutes(rowsOf(reader), runsOn(config.data))[what]({
      principal: OWNER,
      id,
    })) as T;
  }
  const gateway = await httpGateway(invocation, config.data, acp);
  const path = `api/runs/${encodeURIComponent(id)}${what === "patch" ? "/patch" : ""}`;
  const response = await askGateway(gateway, path, "read the run from");
  const found: unknown = await response.json().catch(() => undefined);
  if (isObject(found) && (what === "detail" ? isDetail(found) : typeof found.patch === "string")) {
    return found as T;
  }
  const why = "its answer is none that this version knows. Is it a Trunkline, of the same version?";
  throw new TrunklineError("unavailable", `Cannot read the run from ${gateway.base}: ${why}`);
}

const TEXTS = "id stage agent title repository target pushed pullRequest fetch".split(" ");

/** Whether a server's answer has what is shown of it. */
function isDetail({ row, files, log: said }: Readonly<Record<string, unknown>>): boolean {
  const isText = (value: unknown): boolean => value === undefined || typeof value === "string";
  const isTime = (value: unknown): boolean => Math.abs(Number(value)) <= 8.64e15;
  const isEach = (list: unknown, fits: (each: Record<string, unknown>) => boolean): boolean =>
    Array.isArray(list) && list.every((each) => isObject(each) && fits(each));
  return (
    isObject(row) &&
    TEXTS.every((name) => isText(row[name])) &&
    isTime(row.updated) &&
    isEach(files, ({ path }) => typeof path === "string") &&
    isEach(said, ({ at, says }) => isTime(at) && typeof says === "string")
  );
}

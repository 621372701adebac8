import { once } from "node:events";
import type { ServerResponse } from "node:http";
import {
  type ApiCall,
  type ApiHandler,
  type ApiRoute,
  bodyAs,
  numberIn,
  route,
} from "../../../base/capability/api-route.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { DEFAULT_LIMITS } from "../../../base/limit/limits.ts";
import { type Principal, hasScope } from "../../../base/principal.ts";
import { maskText, maskWords } from "../../../base/text/mask.ts";
import { PlainForms } from "../../../protocol/acp/update-forms.ts";
import {
  entryOf,
  type SessionEntry,
  type SessionEvent,
  type UpdateEvent,
} from "../../../session/event.ts";
import { exportedEvents } from "../../../session/turn/exported-events.ts";
import {
  allEvents,
  type ReadSession,
  type SessionReading,
} from "../../../store/session/session-reader.ts";
import type { AnswerBody, AskRow, EventLog, SessionDetail, Traffic } from "../session-api.ts";
import {
  checkAnswerBody,
  checkMoveBody,
  checkPromptBody,
  checkSettingBody,
} from "../schema.gen.ts";
import { rawText, trafficOf } from "../traffic/session-traffic.ts";
import type { TrafficRing } from "../traffic/traffic-ring.ts";
import { changedFiles, diffOfFile, undoPreview, whyOfChange } from "./changed-files.ts";
import { moveTo } from "../../../session/open/move/other-side.ts";
import { gatewayAt, readGatewayUrl } from "../../http/gateway-url.ts";
import { goneWith, type MoveContext } from "../../http/move-routes.ts";
import type { MoveBody } from "../schema.gen.ts";
import { sessionActions, type SessionActionsOptions, canUndo } from "./session-actions.ts";
import type { SessionDigest } from "./session-digest.ts";
import { askOf } from "./session-rows.ts";

export interface SessionRoutesOptions extends SessionActionsOptions {
  readonly data: string;
  readonly traffic: TrafficRing;
  readonly moving: () => Promise<MoveContext>;
}

const MOST_ROWS = 500;
const MOST_EVENTS = 2_000;
/** Bytes of a prompt with images: what one message may have. */
export const LARGEST_PROMPT = DEFAULT_LIMITS.maxMessage;
const DONE = { ok: true } as const;

/** The endpoints of sessions. */
export function sessionRoutes(options: SessionRoutesOptions) {
  const { rows, clients, data, moving, traffic: ring } = options;
  const actions = sessionActions(options);
  const get = (path: string, handle: ApiHandler): ApiRoute =>
    route(`GET /api/sessions${path}`, "nothing", handle);
  const see = (path: string, work: (call: ApiCall, of: ReadSession) => ReturnType<ApiHandler>) =>
    get(`/:id/${path}`, async (call) => work(call, await rows.need(call.principal, call.id)));
  const act = (path: string, work: (call: ApiCall, session: ReadSession) => Promise<unknown>) =>
    route(`POST /api/sessions/:id${path}`, "sessions", async (call) => {
      const done = await work(call, await rows.need(call.principal, call.id));
      return typeof done === "object" && done !== null ? done : DONE;
    });
  const own: readonly ApiRoute[] = [
    get("", async ({ principal, query }) => {
      const limit = numberIn(query, "limit", { least: 1, most: MOST_ROWS, usual: 100 });
      return rows.page(principal, { cursor: query.get("cursor") ?? undefined, limit });
    }),
    get("/:id", detail),
    get("/:id/events", events),
    get("/:id/traffic", traffic),
    get("/:id/traffic/:part", rawMessage),
    see("files", ({ principal }, session) => changedFiles(data, session, principal)),
    see("diff", ({ principal, query }, session) =>
      diffOfFile(data, session, query.get("path") ?? "", principal),
    ),
    see("why", ({ principal, query }, session) => whyOfChange(data, session, query, principal)),
    see("undo", ({ principal }, session) => undoPreview(data, session, principal)),
    see("export", async ({ query, response }, session) => {
      const format = query.get("format") === "html" ? "html" : "ndjson";
      await exportSession(rows.reader, session, format, response);
      return undefined;
    }),
    {
      ...act("/prompt", ({ principal, body }, session) =>
        actions.prompt(principal, session, bodyAs(body, checkPromptBody)),
      ),
      largest: LARGEST_PROMPT,
    },
    act("/cancel", ({ principal }, session) => actions.cancel(principal, session)),
    act("/undo", ({ principal }, session) => actions.undo(principal, session, "undo")),
    act("/redo", ({ principal }, session) => actions.undo(principal, session, "redo")),
    act("/answer", ({ principal, body }, session) =>
      actions.answer(principal, session, readAnswer(body)),
    ),
    // It names what git ignores in all of the repository.
    route("GET /api/sessions/:id/move", "admin", async ({ principal, id }) => {
      const { mover } = await moving();
      return {
        stays: await mover.parcels.staysHere(await mover.record(id, principal.id), false),
      };
    }),
    // It lets the caller choose an address that this gateway connects to.
    route("POST /api/sessions/:id/move", "admin", async (call) =>
      moveSession(await moving(), call, bodyAs(call.body, checkMoveBody)),
    ),
    act("/setting", async (call, session) => {
      const client = await clients.at(call.principal, session);
      await client.choose(bodyAs(call.body, checkSettingBody));
      return { settings: (await detail(call)).settings };
    }),
  ];

  /** The open questions of a session: permissions in its log, and questions to this principal. */
  async function asks(principal: Principal, session: ReadSession): Promise<readonly AskRow[]> {
    const client = await clients.known(principal, session.id);
    const digest = await rows.digests.of(session);
    return [...digest.asked(session).map(askOf), ...(client?.questions.asks() ?? [])];
  }

  /** A bounded batch of events from a number on. */
  async function read(session: ReadSession, from: number, limit = MOST_EVENTS): Promise<EventLog> {
    const events = await rows.reader.events(session.id, from, limit);
    return logOf(session, events);
  }

  async function detail({ principal, id }: ApiCall): Promise<SessionDetail> {
    const session = await rows.need(principal, id);
    // Viewing a session must not start its agent, so only an open session is joined.
    const joins = session.holder !== undefined && hasScope(principal, "sessions");
    const client = joins ? await clients.at(principal, session).catch(() => undefined) : undefined;
    const digest = await rows.digests.of(session);
    const row = rows.rowWith(session, digest);
    const settings = settingsOf((client?.settings ?? {}) as unknown as Settings, digest);
    // Before its first turn, only the agent knows the model of a session.
    const model = row.model ?? settings.models?.currentModelId;
    return {
      row: model === undefined ? row : { ...row, model },
      plan: digest.plan,
      settings,
      commands: digest.commands,
      asks: await asks(principal, session),
      canUndo: canUndo(session),
    };
  }

  async function traffic({ principal, id, query }: ApiCall): Promise<Traffic> {
    const session = await rows.need(principal, id);
    const limit = numberIn(query, "limit", { least: 1, most: MOST_EVENTS, usual: 1_000 });
    const from = numberIn(query, "from", { usual: 0 });
    const found = trafficOf(ring, idsOf(session), { from, limit });
    if (found.rows.length > 0 || from > 0) return found;
    const { open } = await rows.row(session);
    if (open === "here") return found;
    const missing =
      open === "elsewhere"
        ? "Another process has this session open, and only that one sees its messages."
        : "This server has not had the session open since it was started.";
    return { ...found, missing };
  }

  async function rawMessage({ principal, id, part }: ApiCall): Promise<{ text: string }> {
    const session = await rows.need(principal, id);
    const text = rawText(ring, idsOf(session), Number(part));
    if (text !== undefined) return { text };
    throw new TrunklineError("not-found", "This message is no longer kept.");
  }

  async function events({ principal, id, query }: ApiCall): Promise<EventLog> {
    const session = await rows.need(principal, id);
    const limit = numberIn(query, "limit", { least: 1, most: MOST_EVENTS, usual: 200 });
    if (query.has("from")) return read(session, numberIn(query, "from", { usual: 1 }), limit);
    const before = numberIn(query, "before", { usual: session.last + 1 });
    return logOf(session, await rows.reader.eventsBefore(id, before, limit));
  }

  return { actions, routes: own, asks, read };
}

/** The ids of a session in messages: ours, and that of its agent. */
function idsOf({ id, notes }: ReadSession): string[] {
  const { sessionId } = (notes.memory ?? {}) as { sessionId?: unknown };
  return typeof sessionId === "string" && sessionId !== "" ? [id, sessionId] : [id];
}

type Settings = SessionDetail["settings"];

/** The settings when a client joined, with what was chosen since. */
function settingsOf({ modes, models, configOptions }: Settings, digest: SessionDigest): Settings {
  const { mode, model } = digest;
  const known = (digest.configOptions as Settings["configOptions"]) ?? configOptions;
  const options = known?.map((option) => ({ ...option, currentValue: digest.valueOf(option) }));
  return {
    ...(modes ? { modes: { ...modes, currentModeId: mode ?? modes.currentModeId } } : {}),
    ...(models ? { models: { ...models, currentModelId: model ?? models.currentModelId } } : {}),
    ...(options ? { configOptions: options } : {}),
  };
}

function logOf({ id, last }: ReadSession, events: EventLog["events"]): EventLog {
  const masked = events.map((event) => ({ ...event, message: maskWords(event.message) }));
  return { session: id, events: masked, last: Math.max(last, events.at(-1)?.seq ?? 0) };
}

function readAnswer(body: ApiCall["body"]): AnswerBody {
  const answer = bodyAs(body, checkAnswerBody);
  if (answer.optionId !== undefined || answer.result !== undefined) return answer;
  throw new TrunklineError("usage", "Give 'optionId', or 'result' for a question.");
}

const STYLE = `:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
article { border-left: 3px solid #8888; margin: 1rem 0; padding: .2rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.prompt { border-color: #36c; } .tool, .event { font-family: monospace; font-size: .9em; opacity: .8; }
time { opacity: .6; font-size: .8em; }`;

/** Sends a session as a download: its events as lines of JSON, or a page that needs nothing else. */
async function exportSession(
  reader: SessionReading,
  session: ReadSession,
  format: "ndjson" | "html",
  response: ServerResponse,
): Promise<void> {
  const isHtml = format === "html";
  response.writeHead(200, {
    "content-type": isHtml ? "text/html; charset=utf-8" : "application/x-ndjson",
    "content-disposition": `attachment; filename="session-${session.id}.${format}"`,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    // Where a browser shows it nevertheless, it may do nothing.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  });
  if (isHtml) response.write(headOf(session));
  const page = new Page();
  for await (const entry of exportedEvents(eventsOf(reader, session.id))) {
    if (response.destroyed) return;
    const text = isHtml ? page.add(entry) : `${JSON.stringify(entry)}\n`;
    if (!response.write(text))
      await Promise.race([once(response, "drain"), once(response, "close")]);
  }
  response.end(isHtml ? `${page.end()}</html>\n` : "");
}

async function* eventsOf(reader: SessionReading, id: string): AsyncGenerator<SessionEntry> {
  for await (const stored of allEvents(reader, id)) yield entryOf(stored);
}

function headOf({ id, title: given = id, agent, cwd }: ReadSession): string {
  const title = maskText(given);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
<h1>${escaped(title)}</h1>
<p>Session ${escaped(id)}, agent ${escaped(agent)}, in <code>${escaped(cwd)}</code></p>
`;
}

/** Neighbouring pieces of one answer become one paragraph. */
class Page {
  #isAnswer = false;
  readonly #forms = new PlainForms();

  add({ at, event }: SessionEntry): string {
    if (event.kind !== "update") return this.#add(at, partOf(event));
    return this.#forms
      .of(event.update)
      .map((update) => this.#add(at, updateOf(update)))
      .join("");
  }

  #add(at: string, part: ReturnType<typeof updateOf>): string {
    if (part === undefined) return "";
    const { kind, text } = part;
    if (kind === "answer" && this.#isAnswer) return escaped(text);
    const end = this.end();
    this.#isAnswer = kind === "answer";
    const begin = `${end}<article class="${kind}"><time>${at}</time>\n${escaped(text)}`;
    return this.#isAnswer ? begin : `${begin}</article>\n`;
  }

  end(): string {
    const isOpen = this.#isAnswer;
    this.#isAnswer = false;
    return isOpen ? "</article>\n" : "";
  }
}

function partOf(
  event: Exclude<SessionEvent, UpdateEvent>,
): { kind: string; text: string } | undefined {
  switch (event.kind) {
    case "prompt":
      return { kind: "prompt", text: event.prompt.map(({ text = "" }) => String(text)).join("\n") };
    case "permission":
      return { kind: "event", text: `Asked: ${titleOf(event.request.toolCall)}` };
    case "answer": {
      const { outcome, by } = event;
      const what = outcome.outcome === "selected" ? outcome.optionId : "cancelled";
      return { kind: "event", text: `Answered by ${by}: ${what}` };
    }
    case "end":
      return { kind: "event", text: `Turn ended: ${event.stopReason} ${event.error ?? ""}` };
    case "setting":
      return undefined;
  }
}

function updateOf(
  update: Readonly<Record<string, unknown>>,
): { kind: string; text: string } | undefined {
  const { text } = (update.content ?? {}) as { text?: unknown };
  if (update.sessionUpdate === "agent_message_chunk" && typeof text === "string") {
    return { kind: "answer", text };
  }
  if (update.sessionUpdate === "tool_call") return { kind: "tool", text: titleOf(update) };
  return undefined;
}

function titleOf({ title }: Readonly<Record<string, unknown>>): string {
  return typeof title === "string" ? title : "a tool";
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Moves a session of this gateway to another, as `trunkline session move --to` does. */
async function moveSession(
  { mover, letGo }: MoveContext,
  { principal: { id: owner }, id: session, response }: ApiCall,
  { to, token, withSecrets = false, interrupts = false }: MoveBody,
): Promise<{ readonly says: readonly string[] }> {
  await mover.record(session, owner);
  const { url, warning } = readGatewayUrl(to);
  // Nobody could be told before the token and the work have been sent.
  if (warning !== undefined) throw new TrunklineError("usage", warning);
  const { folder, says } = await moveTo(mover, session, gatewayAt(url, token), {
    ...{ withSecrets, interrupts, newKey: false },
    letGo: () => letGo(session, interrupts, goneWith(response)),
  });
  const done = `It works in ${folder} there now.`;
  return { says: [done, ...says] };
}

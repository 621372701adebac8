import type { ServerResponse } from "node:http";
import { once } from "node:events";

import { maskText } from "../../../base/text/mask.ts";
import { PlainForms } from "../../../protocol/acp/update-forms.ts";
import type { SessionEvent, UpdateEvent } from "../../../session/event.ts";
import { exportedEvents } from "../../../session/turn/exported-events.ts";
import type { LoggedEvent } from "../../../store/session/session-pages.ts";
import type { ReadSession, SessionReading } from "../../../store/session/session-reader.ts";

const BATCH = 1_000;

const STYLE = `:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
article { border-left: 3px solid #8888; margin: 1rem 0; padding: .2rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.prompt { border-color: #36c; } .tool, .event { font-family: monospace; font-size: .9em; opacity: .8; }
time { opacity: .6; font-size: .8em; }`;

/** Sends a session as a download: its events as lines of JSON, or a page that needs nothing else. */
export async function exportSession(
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

interface Entry {
  readonly seq: number;
  readonly at: string;
  readonly direction: LoggedEvent["direction"];
  readonly event: SessionEvent;
}

async function* eventsOf(reader: SessionReading, id: string): AsyncGenerator<Entry> {
  for (let from = 1; ;) {
    const events = await reader.events(id, from, BATCH);
    const last = events.at(-1);
    if (last === undefined) return;
    from = last.seq + 1;
    for (const { seq, at, direction, message } of events) {
      const event = message as SessionEvent;
      yield { seq, at: new Date(at).toISOString(), direction, event };
    }
  }
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

  add({ at, event }: Entry): string {
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

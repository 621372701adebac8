import { milliseconds, prettyJson, shortPath } from "../text/format.ts";
import type { ComponentChildren, JSX } from "preact";

import { hasFence } from "../../base/text/markdown.ts";
import { unifiedDiff } from "../../base/text/unified-diff.ts";
import { hunksIn } from "../text/unified-diff.ts";
import { DiffView } from "../view/diff-view.tsx";
import { MarkdownView } from "../view/markdown-view.tsx";
import { Badge, type Tone } from "../view/parts.tsx";
import { textOf, titleOf, type ToolEntry, wordIn } from "./conversation.ts";

type Fields = Readonly<Record<string, unknown>>;

const TONES: Readonly<Record<string, Tone>> = {
  pending: "plain",
  in_progress: "busy",
  completed: "good",
  failed: "bad",
};

/** A tool call in one line; its content is folded. */
export function ToolCallView({ entry }: { readonly entry: ToolEntry }): JSX.Element {
  const { call, at, until } = entry;
  const status = wordIn(call["status"]) || "pending";
  const title = titleOf(call) ?? entry.toolCallId;
  const kind = typeof call["kind"] === "string" ? call["kind"] : "tool";
  const took = until - at;
  return (
    <details class={`tool ${status}`}>
      <summary>
        <span class="kind">{kind}</span>
        <code class="name">{title}</code>
        {took >= 100 ? <span class="took">{milliseconds(took)}</span> : null}
        <Badge tone={TONES[status] ?? "plain"}>{status.replaceAll("_", " ")}</Badge>
      </summary>
      <ToolContent call={call} />
    </details>
  );
}

/** What a tool call shows: texts, diffs, terminal output, and otherwise its raw input and output. */
export function ToolContent({ call }: { readonly call: Fields }): JSX.Element {
  const given = Array.isArray(call["content"]) ? (call["content"] as Fields[]) : [];
  const { output } = call;
  const shown = { type: "terminal", output };
  const hasTerminal = given.some(({ type }) => type === "terminal");
  const more = typeof output === "string" && !hasTerminal ? [...given, shown] : given;
  const content = more.map((part) => (part["type"] === "terminal" ? { ...shown, ...part } : part));
  const parts = content.map(contentView).filter((part) => part !== null);
  const raw = ["rawInput", "rawOutput"].filter((name) => call[name] !== undefined);
  const locations = Array.isArray(call["locations"]) ? (call["locations"] as Fields[]) : [];
  return (
    <div class="tool-content">
      {locations.map(({ path, line }) => (
        <p key={String(path)} class="mono note">
          {shortPath(String(path))}
          {line === undefined || line === null ? "" : `:${Number(line)}`}
        </p>
      ))}
      {parts}
      {raw.map((name) => (
        <details key={name} class="raw" open={parts.length === 0}>
          <summary>{name === "rawInput" ? "Input" : "Output"}</summary>
          <Pre text={pretty(call[name])} label={name === "rawInput" ? "Input" : "Output"} />
        </details>
      ))}
    </div>
  );
}

function contentView(content: Fields, key: number): ComponentChildren {
  switch (content["type"]) {
    case "diff": {
      const path = String(content["path"]);
      const diff = unifiedDiff(path, wordIn(content["oldText"]), wordIn(content["newText"]));
      return (
        <div key={key} class="file">
          <p class="path mono">{shortPath(path)}</p>
          <DiffView hunks={hunksIn(diff)} label={`Diff of ${path}`} />
        </div>
      );
    }
    case "content": {
      const text = textOf([content["content"]]);
      return text === "" ? null : <Output key={key} text={text} />;
    }
    case "terminal": {
      const output = (content["_meta"] as Fields | undefined)?.["output"] ?? content["output"];
      const text = typeof output === "string" ? output : "(runs in the editor's terminal)";
      return <Pre key={key} text={text} label="Terminal" class="terminal" />;
    }
    default:
      return null;
  }
}

/** ECMA-48 control sequences, such as colours, which a page cannot show. */
// oxlint-disable-next-line no-control-regex -- They begin with ESC.
const CONTROLS = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)|[@-Z\\-_])/g;
const MOST_CHARACTERS = 100_000;

/** Markdown where the text has a fence. Anything else is preformatted: it may be the output of a program. */
function Output({ text }: { readonly text: string }): JSX.Element {
  if (!hasFence(text)) return <Pre text={text} label="Output" />;
  return <MarkdownView text={shown(text)} />;
}

/** As much of a text as a page can show. */
function shown(text: string): string {
  const clean = text.slice(0, MOST_CHARACTERS).replaceAll(CONTROLS, "");
  const rest = text.length - MOST_CHARACTERS;
  return rest > 0 ? `${clean}\n… ${rest} more characters` : clean;
}

export function Pre({
  text,
  label,
  class: name = "",
}: {
  text: string;
  label: string;
  class?: string;
}): JSX.Element {
  return (
    <pre class={name} tabIndex={0} aria-label={label}>
      {shown(text)}
    </pre>
  );
}

/** JSON in lines, where it does not fit into one. */
function pretty(value: unknown): string {
  if (typeof value === "string") return value;
  const line = JSON.stringify(value) ?? "";
  return line.length <= 100 ? line : prettyJson(value);
}

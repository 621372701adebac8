import { Component, type JSX } from "preact";

import { VirtualList } from "../list/virtual-list.tsx";
import { MarkdownView } from "../view/markdown-view.tsx";
import { Ago, Empty } from "../view/parts.tsx";
import type { Entry } from "./conversation.ts";
import type { OpenSession } from "./open-session.ts";
import { ToolCallView } from "./tool-call.tsx";

export function ConversationView({ session }: { readonly session: OpenSession }): JSX.Element {
  const { entries } = session.shown.value.conversation;
  if (entries.length === 0) {
    return <Empty title="Nothing was said yet">Write the first prompt below.</Empty>;
  }
  return (
    <VirtualList
      kind="feed"
      class="conversation"
      label="Conversation"
      count={entries.length}
      estimate={72}
      followsEnd
      keyOf={(index) => entries[index]?.seq ?? index}
      render={(index) => <EntryView entry={entries[index] as Entry} />}
      onNearStart={() => {
        session.loadEarlier().catch((error: unknown) => reportError(error));
      }}
    />
  );
}

/** Entries are immutable: a change makes a new object. */
class EntryView extends Component<{ readonly entry: Entry }> {
  override shouldComponentUpdate({ entry }: { readonly entry: Entry }): boolean {
    return entry !== this.props.entry;
  }

  override render({ entry }: { readonly entry: Entry }): JSX.Element {
    switch (entry.kind) {
      case "prompt":
        return (
          <div class="entry prompt">
            <div class="who">
              <strong>{entry.by === undefined || entry.by === "" ? "You" : entry.by}</strong>
              <Ago at={entry.at} />
            </div>
            <div class="said">{entry.text}</div>
          </div>
        );
      case "message":
        return (
          <div class="entry message">
            <MarkdownView text={entry.text} />
          </div>
        );
      case "thought":
        return (
          <details class="entry thought">
            <summary>Thought</summary>
            <MarkdownView text={entry.text} />
          </details>
        );
      case "tool":
        return (
          <div class="entry">
            <ToolCallView entry={entry} />
          </div>
        );
      case "permission":
        return (
          <div class="entry permission">
            <span class={`mark ${entry.answer === undefined ? "wait" : ""}`} aria-hidden="true" />
            {permissionText(entry)}
          </div>
        );
      case "note":
        return <div class={`entry note ${entry.level}`}>{entry.text}</div>;
    }
  }
}

function permissionText({ title, answer, by }: Extract<Entry, { kind: "permission" }>): string {
  const what = title ?? "a tool call";
  if (answer === undefined) return `Permission asked: ${what}`;
  const who = by === undefined || by === "" ? "" : ` by ${by}`;
  if (answer.startsWith("allow")) {
    return `Allowed${answer === "allow_always" ? " always" : ""}${who}: ${what}`;
  }
  return `${answer === "cancelled" ? "Not answered" : `Refused${who}`}: ${what}`;
}

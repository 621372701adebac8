import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";

import { type Block, type Inline, parseMarkdown } from "../../base/text/markdown.ts";
import { CopyButton } from "./parts.tsx";

export function MarkdownView({ text }: { readonly text: string }): JSX.Element {
  const blocks = useMemo(() => parseMarkdown(text), [text]);
  return <div class="markdown">{blocks.map(blockView)}</div>;
}

function blockView(block: Block, index: number): JSX.Element {
  switch (block.kind) {
    case "heading": {
      // The page has its own headings above those of a message.
      const level = Math.min(6, block.level + 2);
      return (
        <div key={index} role="heading" aria-level={level} class={`heading h${block.level}`}>
          {block.text.map(inlineView)}
        </div>
      );
    }
    case "paragraph":
      return <p key={index}>{block.text.map(inlineView)}</p>;
    case "code":
      return (
        <div key={index} class="code">
          <div class="code-head">
            <span>{block.language}</span>
            <CopyButton text={block.text} label="Copy code" />
          </div>
          <pre tabIndex={0} aria-label="Code">
            <code>{block.text}</code>
          </pre>
        </div>
      );
    case "quote":
      return <blockquote key={index}>{block.blocks.map(blockView)}</blockquote>;
    case "list": {
      const items = block.items.map(({ done, blocks }, at) => (
        <li key={at} class={done === undefined ? "" : "task"}>
          {done === undefined ? null : <span class="tick">{done ? "☑" : "☐"}</span>}
          {blocks.map(blockView)}
        </li>
      ));
      return block.start === undefined ? (
        <ul key={index}>{items}</ul>
      ) : (
        <ol key={index} start={block.start}>
          {items}
        </ol>
      );
    }
    case "table":
      return (
        <div key={index} class="scroll-x" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead>
              <tr>{block.head.map((cell, at) => cellView("th", cell, at))}</tr>
            </thead>
            <tbody>
              {block.rows.map((row, at) => (
                <tr key={at}>{row.map((cell, column) => cellView("td", cell, column))}</tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "rule":
      return <hr key={index} />;
  }
}

function cellView(Tag: "td" | "th", cell: readonly Inline[], key: number): JSX.Element {
  return <Tag key={key}>{cell.map(inlineView)}</Tag>;
}

function inlineView(inline: Inline, key: number): ComponentChildren {
  if (typeof inline === "string") return inline;
  switch (inline.kind) {
    case "code":
      return <code key={key}>{inline.text}</code>;
    case "strong":
      return <strong key={key}>{inline.text.map(inlineView)}</strong>;
    case "emphasis":
      return <em key={key}>{inline.text.map(inlineView)}</em>;
    case "struck":
      return <s key={key}>{inline.text.map(inlineView)}</s>;
    case "link":
      return (
        <a key={key} href={inline.url} target="_blank" rel="noopener noreferrer">
          {inline.text.map(inlineView)}
        </a>
      );
    case "break":
      return <br key={key} />;
  }
}

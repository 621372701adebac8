import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Outputs } from "./outputs.ts";

/** Generates the Markdown of a block. */
export type Block = () => Promise<string>;

const BLOCK = /^<!-- generated: (\S+) -->\n[\s\S]*?^<!-- \/generated -->$/gm;

/** The documents under `docs/` with their generated blocks filled in. */
export async function fillDocuments(
  root: string,
  blocks: Readonly<Record<string, Block>>,
): Promise<Outputs> {
  const outputs = new Map<string, string>();
  for (const file of globSync("docs/**/*.md", { cwd: root }).toSorted()) {
    const text = readFileSync(join(root, file), "utf8");
    if (text.includes("<!-- generated:")) outputs.set(file, await fillBlocks(file, text, blocks));
  }
  return outputs;
}

/** Replaces the text between `<!-- generated: NAME -->` and `<!-- /generated -->`. */
export async function fillBlocks(
  file: string,
  text: string,
  blocks: Readonly<Record<string, Block>>,
): Promise<string> {
  const found = [...text.matchAll(BLOCK)].map((match) => match[1] ?? "");
  if (found.length !== text.split("<!-- generated:").length - 1) {
    throw new Error(`${file}: a generated block does not end; close it with <!-- /generated -->`);
  }
  const filled = new Map<string, string>();
  for (const name of found) {
    const block = Object.hasOwn(blocks, name) ? blocks[name] : undefined;
    if (block === undefined) {
      const known = Object.keys(blocks).join(", ");
      throw new Error(`${file}: no generated block is called '${name}'. Known: ${known}`);
    }
    filled.set(name, await block());
  }
  return text.replaceAll(BLOCK, (_, name: string) => {
    const body = filled.get(name)?.trim() ?? "";
    return `<!-- generated: ${name} -->\n\n${body}\n\n<!-- /generated -->`;
  });
}

/** A Markdown table. A vertical bar inside a cell would end it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map(row).join("\n");
}

function row(cells: readonly string[]): string {
  const texts = cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " "));
  return `| ${texts.join(" | ")} |`;
}

import { readFile, stat } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { TrunklineError } from "../../base/errors.ts";
import type { ContentBlock } from "../../session/agent.ts";

const IMAGES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};
const MOST_IMAGE_BYTES = 10 * 1024 * 1024;
/** `@path`, and a path as a terminal types it for a file that is dropped: quoted, or with its spaces escaped. */
const PATH = /(?:^|\s)(?:@((?:\\.|[^\s\\])+)|'([^']+)'|"([^"]+)"|((?:\\.|[^\s\\])+))/g;

/** The content of a prompt: its text, the files that it names by `@`, and images by their path. */
export async function promptBlocks(text: string, folder: string): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [{ type: "text", text }];
  const seen = new Set<string>();
  for (const [, named, quoted, doubled, bare] of text.matchAll(PATH)) {
    const typed = (named ?? quoted ?? doubled ?? bare ?? "").replaceAll(/\\(.)/g, "$1");
    const mimeType = IMAGES[extname(typed).toLowerCase()];
    if (named === undefined && mimeType === undefined) continue;
    const path = resolve(folder, typed);
    if (seen.has(path) || !(await isFile(path))) continue;
    seen.add(path);
    const uri = pathToFileURL(path).href;
    if (mimeType === undefined) blocks.push({ type: "resource_link", uri, name: basename(path) });
    else blocks.push({ type: "image", mimeType, uri, data: await imageData(path) });
  }
  return blocks;
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true;
}

async function imageData(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > MOST_IMAGE_BYTES) {
    const most = `${MOST_IMAGE_BYTES / 1024 / 1024} MB`;
    throw new TrunklineError("usage", `Cannot send '${path}': an image may have ${most}.`);
  }
  return await readFile(path, "base64");
}

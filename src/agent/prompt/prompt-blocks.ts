import { statSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { TrunklineError } from "../../base/errors.ts";
import { isInside, realPath } from "../../base/file/path.ts";
import { readRegularFile, UnfitFileError } from "../../base/file/read-regular-file.ts";
import type { ContentBlock } from "../../session/agent.ts";

const IMAGES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};
export const IMAGE_TYPES: readonly string[] = Object.values(IMAGES);
const MOST_IMAGE_BYTES = 10 * 1024 * 1024;
/** `@path`, and a path as a terminal types it for a file that is dropped: quoted, or with its spaces escaped. */
const PATH = /(?:^|\s)(?:@((?:\\.|[^\s\\])+)|'([^']+)'|"([^"]+)"|((?:\\.|[^\s\\])+))/g;

/**
 * The content of a prompt: its text, the files that it names by `@`, and images by their path. Files
 * that a link or a path leads out of `inside` stay text; without it, the person may name any file.
 */
export async function promptBlocks(
  text: string,
  folder: string,
  inside?: readonly string[],
): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [{ type: "text", text }];
  const seen = new Set<string>();
  for (const [, named, quoted, doubled, bare] of text.matchAll(PATH)) {
    const typed = (named ?? quoted ?? doubled ?? bare ?? "").replaceAll(/\\(.)/g, "$1");
    const mimeType = IMAGES[extname(typed).toLowerCase()];
    if (named === undefined && mimeType === undefined) continue;
    const path = resolve(folder, typed);
    if (seen.has(path) || !isFile(path) || !leadsInto(path, inside)) continue;
    seen.add(path);
    const uri = pathToFileURL(path).href;
    if (mimeType === undefined) blocks.push({ type: "resource_link", uri, name: basename(path) });
    else blocks.push({ type: "image", mimeType, uri, data: imageData(path, inside) });
  }
  return blocks;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function leadsInto(path: string, folders: readonly string[] | undefined): boolean {
  if (folders === undefined) return true;
  const real = realPath(path);
  return folders.some((folder) => isInside(real, realPath(folder)));
}

function imageData(path: string, inside: readonly string[] | undefined): string {
  try {
    const limits = { most: MOST_IMAGE_BYTES, ...(inside === undefined ? {} : { inside }) };
    return readRegularFile(path, limits)?.toString("base64") ?? "";
  } catch (error) {
    if (!(error instanceof UnfitFileError)) throw error;
    const most = `${MOST_IMAGE_BYTES / 1024 / 1024} MB`;
    const why = error.size === undefined ? error.message : `an image may have ${most}`;
    throw new TrunklineError("usage", `Cannot send '${path}': ${why}.`);
  }
}

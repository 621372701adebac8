import { statSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";
import { nextTurn } from "../../base/event-loop.ts";
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
/** Bytes of all images of a prompt together. */
const MOST_IMAGE_BYTES = 10 * 1024 * 1024;
/** Names for which a file is looked for; what is named after them stays text. */
const MOST_NAMES = 1_000;
/** Words after which other work gets its turn of the event loop. */
const WORDS_AT_ONCE = 5_000;
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
  let room = MOST_IMAGE_BYTES;
  let words = 0;
  for (const [, named, quoted, doubled, bare] of text.matchAll(PATH)) {
    if (++words % WORDS_AT_ONCE === 0) await nextTurn();
    const typed = (named ?? quoted ?? doubled ?? bare ?? "").replaceAll(/\\(.)/g, "$1");
    const mimeType = IMAGES[extname(typed).toLowerCase()];
    if (named === undefined && mimeType === undefined) continue;
    const path = resolve(folder, typed);
    if (seen.has(path)) continue;
    if (seen.size === MOST_NAMES) break;
    seen.add(path);
    if (!isFile(path) || !leadsInto(path, inside)) continue;
    const uri = pathToFileURL(path).href;
    if (mimeType === undefined) {
      blocks.push({ type: "resource_link", uri, name: basename(path) });
      continue;
    }
    const image = readImage(path, room, inside);
    room -= image.length;
    blocks.push({ type: "image", mimeType, uri, data: image.toString("base64") });
  }
  return blocks;
}

function isFile(path: string): boolean {
  return attempt(() => statSync(path).isFile()) === true;
}

function leadsInto(path: string, folders: readonly string[] | undefined): boolean {
  if (folders === undefined) return true;
  const real = realPath(path);
  return folders.some((folder) => isInside(real, realPath(folder)));
}

function readImage(path: string, room: number, inside: readonly string[] | undefined): Buffer {
  try {
    const limits = { most: room, ...(inside === undefined ? {} : { inside }) };
    return readRegularFile(path, limits) ?? Buffer.alloc(0);
  } catch (error) {
    if (!(error instanceof UnfitFileError)) throw error;
    const most = `${MOST_IMAGE_BYTES / 1024 / 1024} MB`;
    const why = error.size === undefined ? error.message : `all images may have ${most} together`;
    throw new TrunklineError("usage", `Cannot send '${path}': ${why}.`);
  }
}

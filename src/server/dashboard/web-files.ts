import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { dirname, extname, join } from "node:path";
import { gzipSync } from "node:zlib";

import { fail } from "../http/http-answers.ts";

/** No script, style or connection but our own, and no page may frame ours. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join("; ");

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
};

/** Names that contain the hash of their content, and so never stand for another. */
const HASHED = /-[0-9A-Za-z]{8,}\.[a-z0-9]+$/;
const PAGE = "index.html";
export const ASSETS = "/assets/";

interface WebFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly tag: string;
  zipped?: Buffer;
}

/**
 * The files of the dashboard's application. They are all read at once and kept: an upgrade may replace
 * them while this server runs, and a page must not get half of each.
 */
export async function loadWebFiles(folder = builtFolder()) {
  const files = new Map<string, WebFile>();
  const names = folder === undefined ? [] : await readdir(folder).catch(() => []);
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined || folder === undefined) continue;
    const bytes = await readFile(join(folder, name));
    files.set(name, { type, bytes, tag: `"${hash("sha256", bytes, "base64url").slice(0, 22)}"` });
  }

  function answer(name: string, { headers }: IncomingMessage, response: ServerResponse): void {
    const file = files.get(name);
    if (file === undefined)
      return fail(response, 404, "The dashboard was not built: npm run build");
    const { type, bytes, tag } = file;
    const isForever = HASHED.test(name);
    const common = {
      etag: tag,
      vary: "Accept-Encoding",
      "cache-control": isForever ? "private, max-age=31536000, immutable" : "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      ...(name === PAGE && { "content-security-policy": POLICY, "x-frame-options": "DENY" }),
    };
    if (headers["if-none-match"]?.includes(tag) === true) {
      response.writeHead(304, common).end();
      return;
    }
    const zips = /\bgzip\b/.test(headers["accept-encoding"] ?? "");
    const body = zips ? (file.zipped ??= gzipSync(bytes)) : bytes;
    response.writeHead(200, {
      ...common,
      "content-type": type,
      "content-length": body.length,
      ...(zips ? { "content-encoding": "gzip" } : {}),
    });
    response.end(body);
  }

  return {
    /** A file of the page, by its address. */
    send(path: string, request: IncomingMessage, response: ServerResponse): void {
      const name = path === "/" ? PAGE : path.slice(ASSETS.length);
      if (path !== "/" && (name === PAGE || !files.has(name))) {
        return fail(response, 404, "Nothing is at this path. Load the page again.");
      }
      return answer(name, request, response);
    },
  };
}

/** The folder in the package, whether it runs from its sources or was built. */
function builtFolder(): string | undefined {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const found = join(folder, "dist/web");
    if (existsSync(join(found, PAGE))) return found;
    if (dirname(folder) === folder) return undefined;
  }
}

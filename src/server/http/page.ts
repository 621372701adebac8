import { hash } from "node:crypto";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

import { send } from "./http-answers.ts";

const STYLE = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 46rem; margin: 4rem auto; padding: 0 1rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; padding: .4rem .8rem .4rem 0; vertical-align: top; }
  td:last-child { opacity: .7; }
  code, pre { font-size: .95em; }
`;

/**
 * An HTML page whose Content Security Policy allows its own style and script, and no framing.
 * `body` is HTML and `script` JavaScript; neither may contain untrusted text.
 */
export function page(body: string, script?: string) {
  const program = script === undefined ? "" : `\n<script>${script}</script>`;
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Trunkline</title>
<style>${STYLE}</style>
${body}${program}
</html>
`;
  const policy = [
    "default-src 'none'",
    `style-src ${sourceOf(STYLE)}`,
    `script-src ${script === undefined ? "'none'" : sourceOf(script)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

  return {
    send: (response: ServerResponse, status: number, headers: OutgoingHttpHeaders = {}): void =>
      send(response, status, "text/html; charset=utf-8", html, {
        "content-security-policy": policy,
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "x-frame-options": "DENY",
        ...headers,
      }),
  };
}

/** Content Security Policy Level 3, section 2.3.1: inline code is allowed by its hash. */
function sourceOf(text: string): string {
  return `'sha256-${hash("sha256", text, "base64")}'`;
}

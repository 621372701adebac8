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

/** An HTML page whose Content Security Policy allows its own style and script, and no framing. */
export class Page {
  readonly #html: string;
  readonly #policy: string;

  /** `body` is HTML and `script` JavaScript; neither may contain untrusted text. */
  constructor(body: string, script?: string) {
    const program = script === undefined ? "" : `\n<script>${script}</script>`;
    this.#html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Trunkline</title>
<style>${STYLE}</style>
${body}${program}
</html>
`;
    this.#policy = [
      "default-src 'none'",
      `style-src ${sourceOf(STYLE)}`,
      `script-src ${script === undefined ? "'none'" : sourceOf(script)}`,
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; ");
  }

  send(response: ServerResponse, status: number, headers: OutgoingHttpHeaders = {}): void {
    send(response, status, "text/html; charset=utf-8", this.#html, {
      "content-security-policy": this.#policy,
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "x-frame-options": "DENY",
      ...headers,
    });
  }
}

/** Content Security Policy Level 3, section 2.3.1: inline code is allowed by its hash. */
function sourceOf(text: string): string {
  return `'sha256-${hash("sha256", text, "base64")}'`;
}

/** The page that the gateway shows in a browser. */
export function statusPage(
  origin: string,
  health: { version: string; uptimeSeconds: number; connections: number },
): Page {
  const socket = origin.replace("http", "ws");
  const rows = [
    ["MCP", `${origin}/mcp`, "for assistants: Claude Code, Cursor, Codex"],
    ["ACP", `${socket}/acp`, "for editors: Zed, JetBrains"],
    ["Health", `${origin}/healthz`, "for scripts: it runs"],
    ["Readiness", `${origin}/readyz`, "for scripts: it can do its work"],
    ["Metrics", `${origin}/metrics`, "for Prometheus"],
  ];
  const table = rows
    .map(
      ([name, url, what]) =>
        `<tr><th>${name}</th><td><code>${url}</code></td><td>${what}</td></tr>`,
    )
    .join("");
  return new Page(`<h1>Trunkline ${health.version}</h1>
<p>Running for ${health.uptimeSeconds} s, ${health.connections} open conversations.</p>
<table>${table}</table>`);
}

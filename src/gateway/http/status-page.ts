import { Page } from "./page.ts";

/** What a person sees who opens the gateway in a browser. */
export function statusPage(
  origin: string,
  health: { version: string; uptimeSeconds: number; connections: number },
): Page {
  const socket = origin.replace("http", "ws");
  const rows = [
    ["MCP", `${origin}/mcp`, "for assistants: Claude Code, Cursor, Codex"],
    ["ACP", `${socket}/acp`, "for editors: Zed, JetBrains"],
    ["Health", `${origin}/healthz`, "for scripts"],
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

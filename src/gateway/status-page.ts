/** What a person sees who opens the gateway in a browser. */
export function statusPage(
  origin: string,
  health: { version: string; uptimeSeconds: number; connections: number },
): string {
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
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Trunkline</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 46rem; margin: 4rem auto; padding: 0 1rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; padding: .4rem .8rem .4rem 0; vertical-align: top; }
  td:last-child { opacity: .7; }
</style>
<h1>Trunkline ${health.version}</h1>
<p>Running for ${health.uptimeSeconds} s, ${health.connections} open conversations.</p>
<table>${table}</table>
</html>
`;
}

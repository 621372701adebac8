import type { ThreadRow } from "../../../src/server/dashboard/api.ts";
import type { ChangedFiles, TrafficRow } from "../../../src/server/dashboard/session-api.ts";
import { at } from "./sample-time.ts";

export const DIFF = `diff --git a/src/parser/tokens.ts b/src/parser/tokens.ts
--- a/src/parser/tokens.ts
+++ b/src/parser/tokens.ts
@@ -2,8 +2,9 @@ export function tokens(text: string): Token[] {
   const found: Token[] = [];
   let at = 0;
   while (at < text.length) {
-    const match = PATTERN.exec(text.slice(at));
-    if (match === null) throw new Error("bad input");
+    PATTERN.lastIndex = at;
+    const match = PATTERN.exec(text);
+    if (match === null) throw new SyntaxError(\`Unexpected character at \${at}\`);
     found.push(tokenOf(match));
     at += match[0].length;
   }
`;

export const FILES: ChangedFiles = {
  against: "git",
  base: "4be1c0ffee1234567890",
  files: [
    { path: "src/parser/tokens.ts", change: "modified", added: 3, removed: 2 },
    { path: "test/fuzz/tokens.test.ts", change: "added", added: 44, removed: 0 },
  ],
};

export function sampleThread(fields: Partial<ThreadRow> = {}): ThreadRow {
  return {
    id: "th-1",
    repository: {
      name: "atlas",
      root: "/home/ann/code/atlas",
      gitDir: "/home/ann/code/atlas/.git",
    },
    path: "src/parser/tokens.ts",
    side: "new",
    line: 5,
    severity: "should",
    comment: "A comment why the pattern has to be sticky would help here.",
    state: "open",
    by: "ann",
    session: "s-0",
    at: at(20),
    updated: at(3),
    ...fields,
  };
}

export function traffic(): TrafficRow[] {
  const rows: Omit<TrafficRow, "n">[] = [
    {
      at: at(6),
      lane: "client",
      peer: "Zed",
      direction: "in",
      kind: "request",
      method: "session/prompt",
      id: "4",
      size: 412,
    },
    {
      at: at(6) + 3,
      lane: "agent",
      peer: "claude-code",
      direction: "out",
      kind: "request",
      method: "session/prompt",
      id: "9",
      size: 398,
    },
    {
      at: at(6) + 80,
      lane: "stderr",
      peer: "claude-code",
      direction: "in",
      kind: "line",
      size: 48,
      text: "[warn] model cache is cold, loading 214 MB",
    },
    ...Array.from({ length: 37 }, (_, n): Omit<TrafficRow, "n"> => ({
      at: at(6) + 900 + n * 20,
      lane: "agent",
      peer: "claude-code",
      direction: "in",
      kind: "notification",
      method: "session/update",
      update: "agent_message_chunk",
      size: 160,
    })),
    {
      at: at(5),
      lane: "agent",
      peer: "claude-code",
      direction: "in",
      kind: "request",
      method: "fs/read_text_file",
      id: "2",
      size: 190,
      pair: 42,
    },
    {
      at: at(5) + 12,
      lane: "agent",
      peer: "claude-code",
      direction: "out",
      kind: "response",
      method: "fs/read_text_file",
      id: "2",
      size: 2214,
      pair: 41,
      latency: 11.6,
    },
    {
      at: at(4),
      lane: "agent",
      peer: "claude-code",
      direction: "in",
      kind: "notification",
      method: "session/update",
      update: "tool_call",
      size: 611,
    },
    {
      at: at(3),
      lane: "agent",
      peer: "claude-code",
      direction: "in",
      kind: "error",
      method: "session/set_model",
      id: "10",
      size: 131,
      latency: 402,
      pair: 40,
    },
    {
      at: at(2),
      lane: "agent",
      peer: "claude-code",
      direction: "in",
      kind: "request",
      method: "session/request_permission",
      id: "3",
      size: 902,
    },
    {
      at: at(2) + 2,
      lane: "client",
      peer: "Zed",
      direction: "out",
      kind: "request",
      method: "session/request_permission",
      id: "17",
      size: 917,
    },
  ];
  return rows.map((row, index) => ({ n: index + 1, ...row }));
}

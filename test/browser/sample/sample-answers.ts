import type { SessionRow } from "../../../src/server/dashboard/session-api.ts";
import { DIFF, FILES, sampleThread, traffic } from "./sample-changes.ts";
import type { Answers } from "./sample-dashboard.ts";
import {
  AGENTS,
  APPROVAL,
  AUDIT,
  CALLS,
  IDENTITIES,
  ME,
  OVERVIEW,
  LOGINS,
  PLUGINS,
  RUN,
  RUN_DETAIL,
  SERVERS,
  DELIVERIES,
  FOLDERS,
  TOKENS,
  TOOLS,
} from "./sample-rows.ts";
import { sampleDetail, sampleEvents, sampleSessions } from "./sample-sessions.ts";
import { at } from "./sample-time.ts";

/** Answers of a gateway on a busy day. */
export function sampleAnswers(): Answers {
  const sessions = sampleSessions();
  const events = sampleEvents();
  const rowOf = (id: string): SessionRow => sessions.find((row) => row.id === id) ?? sessions[0]!;
  return {
    "GET /api/me": () => ME,
    "GET /api/overview": () => OVERVIEW,
    "GET /api/agents": () => ({ agents: [], mayAdd: false }),
    "GET /api/start/agents": () => ({ agents: AGENTS }),
    "GET /api/start/folders": () => FOLDERS,
    "GET /api/start/files": () => ({ files: ["src/net/retry.ts", "src/net/retry.test.ts"] }),
    "GET /api/sessions": () => ({ rows: sessions }),
    "GET /api/sessions/*": ({ parts: [id = ""] }) => sampleDetail(rowOf(id)),
    "GET /api/sessions/*/events": ({ parts: [id] }) => ({
      session: id,
      events,
      last: events.length,
    }),
    "GET /api/sessions/*/traffic": ({ query }) => {
      const rows = traffic().filter(({ n }) => n >= Number(query.get("from") ?? 1));
      return { rows, first: 1, last: traffic().length };
    },
    "GET /api/sessions/*/traffic/*": ({ parts: [, n] }) => ({
      text: JSON.stringify({
        jsonrpc: "2.0",
        id: Number(n),
        method: "session/prompt",
        params: { sessionId: "s-0", prompt: [{ type: "text", text: "…" }] },
      }),
    }),
    "GET /api/sessions/*/files": () => FILES,
    "GET /api/sessions/*/diff": ({ query }) => ({
      path: query.get("path"),
      diff: DIFF,
      isCut: false,
    }),
    "POST /api/sessions/*/answer": () => ({ ok: true }),
    "GET /api/threads": () => ({
      rows: [
        sampleThread(),
        sampleThread({
          id: "th-2",
          state: "proposed",
          severity: "must",
          line: 7,
          comment: "This swallows the error of the first attempt.",
          path: "src/net/retry.ts",
          claimedBy: "codex",
        }),
        sampleThread({
          id: "th-3",
          state: "resolved",
          severity: "nit",
          comment: "Typo",
          path: "README.md",
        }),
      ],
    }),
    "GET /api/threads/*": () => ({
      row: sampleThread(),
      quote: ["    PATTERN.lastIndex = at;"],
      events: [
        {
          seq: 1,
          kind: "opened",
          at: at(20),
          by: "ann",
          role: "person",
          text: sampleThread().comment,
        },
      ],
    }),
    "GET /api/runs": () => ({
      rows: [
        RUN,
        {
          ...RUN,
          id: "r-2",
          title: "Upgrade to Node 26",
          stage: "pushed",
          pushed: "77aa88bb99",
          says: "Pushed trunkline/node-26",
          target: "trunkline/node-26",
          updated: at(80),
        },
        {
          ...RUN,
          id: "r-3",
          title: "Translate the handbook",
          stage: "queued",
          position: 2,
          says: "Waits for a free place",
          updated: at(5),
        },
      ],
    }),
    "GET /api/runs/*": () => RUN_DETAIL,
    "GET /api/runs/*/diff": () => ({ path: "", diff: DIFF, isCut: false }),
    "GET /api/identities": () => IDENTITIES,
    "GET /api/tools": () => ({ tools: TOOLS }),
    "POST /api/tools/policy": ({ body }) => ({
      ...TOOLS.find(({ name }) => name === body["tool"]),
      policy: body["decision"],
    }),
    "GET /api/approvals": () => ({ approvals: [APPROVAL] }),
    "GET /api/calls": () => ({ calls: CALLS }),
    "GET /api/servers": () => ({ servers: SERVERS }),
    "GET /api/plugins": () => ({ plugins: PLUGINS }),
    "GET /api/audit": ({ query }) => ({
      rows: AUDIT.filter((row) => JSON.stringify(row).includes(query.get("q") ?? "")),
    }),
    "GET /api/notifications": () => ({ deliveries: DELIVERIES }),
    "GET /api/logins": () => ({ logins: LOGINS }),
    "POST /api/logins/1/end": () => ({ ok: true, problems: ["https://mail.example: it is away"] }),
    "GET /api/tokens": () => ({ tokens: TOKENS }),
    "POST /api/tokens": () => ({ token: "trunkline_sample_secret", row: TOKENS[0] }),
  };
}

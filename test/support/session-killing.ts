import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { AcpEditor, Place } from "./acp-editor.ts";
import { SeededRandom } from "./seeded-random.ts";
import type { SessionTakeover } from "./session-takeover.ts";
import { until } from "./until.ts";

const AGENT = join(import.meta.dirname, "acp-agent.mjs");
const BUILT = join(import.meta.dirname, "../../dist/trunkline.js");
const EDITORS = 3;

/** An editor that is not killed for a while prompts more often than the ten times a minute of the document. */
const OFTEN = { rate: { limit: 1_000, windowMs: 60_000 } };

const OPTIONS = {
  config: {
    limits: { messages: { "session/prompt": OFTEN } },
    agent: "other",
    agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
  },
  answers: { "session/request_permission": () => undefined },
  isShared: true,
};

/**
 * Several editors, each with a process of its own, are in one session that streams. One process after
 * another is killed, the holder's too, and starts again. Each client must be shown the conversation as
 * the log has it: nothing lost, nothing twice. Resolves to the takeovers after kills of the holder.
 */
export async function killMembers(kills: number, seed: number): Promise<SessionTakeover[]> {
  const random = new SeededRandom(seed);
  using place = new Place();
  const editors = Array.from({ length: EDITORS }, () => new AcpEditor(place, OPTIONS));
  const load = { cwd: place.folder, mcpServers: [] };
  const takeovers: SessionTakeover[] = [];
  try {
    const sessionId = (await editors[0]?.begin()) ?? "";
    for (const editor of editors.slice(1)) await joinSession(editor, sessionId, load);
    for (let at = 0; at < kills; at++) {
      const prompting = random.below(EDITORS);
      const prompt = [{ type: "text", text: "forever" }];
      const [asks, dies] = [editors[prompting], random.below(EDITORS)];
      const before = asks?.text().length ?? 0;
      const asked = asks?.post("session/prompt", { sessionId, prompt }) ?? 0;
      // A prompt on which nobody works yet is sent again after a takeover, and then has no end.
      await asks?.program.until(() => asks.text().length > before);
      await delay(random.below(200));
      const killed = editors[dies];
      const wasHolder = killed?.program.child.pid === holderOf(place, sessionId);
      killed?.program.child.kill("SIGKILL");
      const since = performance.now();
      await killed?.program.exit;
      await killed?.program[Symbol.asyncDispose]();
      const survivor = editors[(dies + 1) % EDITORS] as AcpEditor;
      let milliseconds = 0;
      if (wasHolder) {
        // Answered by whoever has the session now.
        await survivor.ask("session/set_mode", { sessionId, modeId: at % 2 ? "ask" : "code" });
        milliseconds = performance.now() - since;
        if (asks !== killed) {
          const { error } = (await asks?.answerTo(asked)) ?? {};
          assert.deepEqual(error?.data, { interrupted: true }, `seed ${seed}`);
        }
      } else {
        survivor.notify("session/cancel", { sessionId });
        if (asks !== killed) {
          const { result } = (await asks?.answerTo(asked)) ?? {};
          assert.deepEqual(result, { stopReason: "cancelled" }, `seed ${seed}`);
        }
      }
      const begin = performance.now();
      const next = new AcpEditor(place, OPTIONS);
      editors[dies] = next;
      await joinSession(next, sessionId, load);
      if (wasHolder) takeovers.push({ milliseconds, joining: performance.now() - begin });
      await compare(place, sessionId, editors, `kill ${at + 1}, seed ${seed}`);
    }
  } finally {
    for (const editor of editors) editor.program.child.stdin.end();
    await Promise.all(editors.map((editor) => editor[Symbol.asyncDispose]()));
  }
  return takeovers;
}

async function joinSession(editor: AcpEditor, sessionId: string, load: object): Promise<void> {
  await editor.hello();
  await editor.ask("session/load", { sessionId, ...load });
}

/** Each editor has been shown what the log has. */
async function compare(
  place: Place,
  sessionId: string,
  editors: readonly AcpEditor[],
  when: string,
): Promise<void> {
  const isSame = (): boolean => {
    const said = saidIn(place, sessionId);
    return editors.every((editor) => editor.text() === said);
  };
  // What was said last has to arrive; then all must have the same.
  await until(isSame).catch(() => {
    const said = saidIn(place, sessionId);
    for (const editor of editors) assert.equal(editor.text(), said, when);
  });
}

interface Exported {
  readonly events: readonly {
    readonly event: {
      readonly kind: string;
      readonly stopReason?: string;
      readonly error?: string;
      readonly update?: {
        readonly sessionUpdate: string;
        readonly content?: { readonly text?: string };
      };
    };
  }[];
}

function saidIn(place: Place, sessionId: string): string {
  const { events } = JSON.parse(session(place, "export", sessionId)) as Exported;
  return events
    .map(({ event: { stopReason, error, update } }) => {
      if (stopReason === "interrupted") return `\n\n[This turn was interrupted: ${error}]\n\n`;
      return update?.sessionUpdate === "agent_message_chunk" ? (update.content?.text ?? "") : "";
    })
    .join("");
}

function holderOf(place: Place, sessionId: string): number | undefined {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  using database = new DatabaseSync(join(dataOf(place), "sessions.sqlite"), { readOnly: true });
  const row = database.prepare("SELECT holder FROM session WHERE uuid = ?").get(sessionId);
  return Number.parseInt(String(row?.["holder"]), 10);
}

function dataOf(place: Place): string {
  return join(place.home, ".local/state/trunkline");
}

function session(place: Place, ...args: string[]): string {
  const env = { PATH: process.env.PATH ?? "", HOME: place.home };
  const config = join(place.path, "config.jsonc");
  const words = [BUILT, "session", ...args, "--config", config];
  return execFileSync(process.execPath, words, { env, encoding: "utf8", maxBuffer: 1 << 28 });
}

import type {
  AskRow,
  LogEvent,
  SessionDetail,
  SessionRow,
} from "../../../src/server/dashboard/session-api.ts";
import { at } from "./sample-time.ts";

const TITLES = [
  ["Migrate the parser to the new tokenizer", "atlas", "feat/tokenizer", "waiting"],
  ["Fix flaky login test", "atlas", "fix/login-test", "waiting"],
  ["Add rate limiting to the public API", "gatehouse", "feat/rate-limit", "running"],
  ["Write release notes for 2.4", "handbook", "main", "idle"],
  ["Why does the nightly build time out?", "gatehouse", "main", "idle"],
  ["Replace moment with Temporal", "atlas", "chore/temporal", "idle"],
  ["Investigate memory growth in the worker", "foundry", "main", "idle"],
] as const;

/** Sessions as a busy day has them; more of them repeat. */
export function sampleSessions(count: number = TITLES.length): SessionRow[] {
  return Array.from({ length: count }, (_, index) => {
    const [title, repository, branch, state] = TITLES[index % TITLES.length]!;
    const isFirst = index < TITLES.length;
    const says =
      index === 0 ? "Run npm install --save-dev tokenizer@4" : "Which account should I use?";
    const kind = index === 0 ? "permission" : "question";
    return {
      id: `s-${index}`,
      title: isFirst ? title : `${title} (${index})`,
      state: isFirst ? state : "idle",
      ...(isFirst && state === "waiting"
        ? { waiting: { for: kind, says, since: at(2 + index) } }
        : {}),
      ...(state === "running" && isFirst
        ? {}
        : { ended: index === 4 ? "interrupted" : "end_turn" }),
      agent: ["claude-code", "built-in", "codex"][index % 3]!,
      model: ["claude-opus-5", "gpt-6-codex", "gemini-4-pro"][index % 3]!,
      mode: "code",
      client: ["Zed", "JetBrains", "terminal", "dashboard"][index % 4]!,
      cwd: `/home/ann/code/${repository}`,
      repository,
      branch,
      context: { used: 18_000 + ((index * 23_017) % 170_000), size: 200_000 },
      cost: { amount: 0.031 + ((index * 0.37) % 4), currency: "USD" },
      created: at(300 + index * 3),
      updated: at(index < 3 ? index * 2 : index * 7),
      last: 40,
      open: index < 4 ? "here" : "no",
      isRun: index === 2,
      identity: "work",
    } satisfies SessionRow;
  });
}

const update = (fields: object): object => ({ kind: "update", update: fields });
const chunk = (text: string): object =>
  update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

const OLD_CODE = `export function tokens(text: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const match = PATTERN.exec(text.slice(at));
    if (match === null) throw new Error("bad input");
    found.push(tokenOf(match));
    at += match[0].length;
  }
  return found;
}
`;
const NEW_CODE = OLD_CODE.replace(
  "    const match = PATTERN.exec(text.slice(at));\n",
  "    PATTERN.lastIndex = at;\n    const match = PATTERN.exec(text);\n",
).replace('throw new Error("bad input")', "throw new SyntaxError(`Unexpected character at ${at}`)");

const CALL = {
  toolCallId: "t3",
  title: "npm install --save-dev tokenizer@4",
  kind: "execute",
  status: "pending",
  rawInput: { command: "npm", args: ["install", "--save-dev", "tokenizer@4"] },
};

export function sampleEvents(): LogEvent[] {
  const messages: object[] = [
    {
      kind: "prompt",
      turnId: "1",
      by: "Zed",
      prompt: [
        {
          type: "text",
          text: "The parser slices the input for every token, which is quadratic. Move it to sticky patterns, and say where it stopped when the input is wrong.",
        },
      ],
    },
    update({
      sessionUpdate: "agent_thought_chunk",
      content: { type: "text", text: "The loop copies the rest of the text for each token." },
    }),
    chunk("I'll look at the tokenizer first.\n"),
    update({
      sessionUpdate: "tool_call",
      toolCallId: "t1",
      title: "Read src/parser/tokens.ts",
      kind: "read",
      status: "completed",
      locations: [{ path: "/home/ann/code/atlas/src/parser/tokens.ts", line: 1 }],
      content: [{ type: "content", content: { type: "text", text: OLD_CODE } }],
    }),
    chunk(
      "The cause is `text.slice(at)`: each token copies the rest. Two changes fix it:\n\n1. **Sticky pattern** — set `lastIndex` instead of slicing\n2. An error that names the position\n\n| input | before | after |\n|---|---|---|\n| 10 kB | 41 ms | 1.2 ms |\n| 1 MB | 390 s | 118 ms |\n\n```ts\nPATTERN.lastIndex = at;\nconst match = PATTERN.exec(text);\n```\n",
    ),
    update({
      sessionUpdate: "plan",
      entries: [
        { content: "Make the pattern sticky", status: "completed", priority: "high" },
        { content: "Name the position in the error", status: "completed", priority: "high" },
        { content: "Add the fuzz test", status: "in_progress", priority: "medium" },
        { content: "Measure", status: "pending", priority: "low" },
      ],
    }),
    update({
      sessionUpdate: "tool_call",
      toolCallId: "t2",
      title: "Edit src/parser/tokens.ts",
      kind: "edit",
      status: "completed",
      content: [
        {
          type: "diff",
          path: "/home/ann/code/atlas/src/parser/tokens.ts",
          oldText: OLD_CODE,
          newText: NEW_CODE,
        },
      ],
    }),
    chunk("Now the fuzz test. It needs a generator, which I would install."),
    update({ sessionUpdate: "tool_call", ...CALL }),
    { kind: "permission", turnId: "1", requestId: "p1", request: { toolCall: CALL, options: [] } },
  ];
  return messages.map((message, index) => ({
    seq: index + 1,
    at: at(6) + index * 900,
    direction: index === 0 ? "client" : "agent",
    message,
  }));
}

const ASK: AskRow = {
  id: "a1",
  kind: "permission",
  at: at(2),
  toolCall: CALL,
  options: [
    { optionId: "once", name: "Allow once", kind: "allow_once" },
    { optionId: "always", name: "Always allow npm install", kind: "allow_always" },
    { optionId: "no", name: "Reject", kind: "reject_once" },
  ],
};

export function sampleDetail(row: SessionRow, asks: readonly AskRow[] = [ASK]): SessionDetail {
  return {
    row,
    plan: [],
    settings: {
      modes: {
        currentModeId: "code",
        availableModes: [
          { id: "code", name: "Code" },
          { id: "ask", name: "Ask" },
        ],
      },
      models: {
        currentModelId: "opus",
        availableModels: [
          { modelId: "opus", name: "Claude Opus 5" },
          { modelId: "haiku", name: "Claude Haiku 5" },
        ],
      },
    },
    commands: [{ name: "undo", description: "Undo the last change" }],
    asks,
    canUndo: true,
  };
}

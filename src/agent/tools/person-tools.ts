import { visibleLine } from "../../base/text/visible.ts";
import { type AgentTool, inputOf, textContent, type ToolWork } from "./agent-tool.ts";

/** A person may take their time. */
const NO_TIMEOUT = 2 ** 31 - 1;
const OTHER = "none of these";

/** What a person has filled into a form; undefined if they closed it. */
async function filledIn(
  { client }: ToolWork,
  message: string,
  properties: Readonly<Record<string, object>>,
  required: readonly string[],
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const requestedSchema = { type: "object", properties, required };
  const answer = (await client.elicit?.({ message, requestedSchema })) as
    | { readonly action?: string; readonly content?: Readonly<Record<string, unknown>> }
    | undefined;
  return answer?.action === "accept" ? (answer.content ?? {}) : undefined;
}

const UNANSWERED =
  "The person did not answer. Decide yourself if that is safe, else stop and say why.";

export const askPerson: AgentTool = {
  name: "ask_person",
  description:
    "Asks the person one question and waits for the answer: for a choice that is theirs and that " +
    "changes what you do. Not for permission, which is asked by itself, nor for what you can find out.",
  inputSchema: inputOf(
    {
      question: { type: "string", minLength: 1 },
      options: {
        type: "array",
        maxItems: 8,
        items: { type: "string", minLength: 1 },
        description: "The usual answers, the one you advise first.",
      },
    },
    ["question"],
  ),
  example: { question: "Which database should the tests use?", options: ["SQLite", "PostgreSQL"] },
  kind: "think",
  need: "nothing",
  timeout: NO_TIMEOUT,
  title: ({ question }) => `Ask: ${String(question)}`,
  async call(args, work) {
    const { question, options = [] } = args as { question: string; options?: readonly string[] };
    const choices = [...new Set(options.map(visibleLine))];
    if (work.client.elicit !== undefined) {
      const other = { type: "string", title: choices.length === 0 ? "Answer" : "Or in your words" };
      const answer = { type: "string", title: "Answer", enum: choices };
      const fields = choices.length === 0 ? { other } : { answer, other };
      const filled = await filledIn(work, question, fields, []);
      const chosen = choices.filter((choice) => choice === filled?.answer);
      const own = typeof filled?.other === "string" && filled.other !== "" ? [filled.other] : [];
      const said = [...chosen, ...own];
      return { text: said.length === 0 ? UNANSWERED : `The person answers: ${said.join(". ")}` };
    }
    if (choices.length > 0) {
      const chosen = await work.choose({
        title: question,
        content: [textContent(question)],
        options: [...choices.map((name) => ({ name })), { name: OTHER, isNo: true }],
      });
      const name = chosen === undefined ? undefined : choices[chosen];
      return { text: name === undefined ? UNANSWERED : `The person answers: ${name}` };
    }
    const next = "End your turn with the question in plain text; the next prompt is the answer.";
    return { text: `The person's client cannot show a question. ${next}`, isError: true };
  },
};

/** The ways on from a plan. */
const WAYS = [
  { mode: "auto-accept", name: "Approve, and make the changes without asking about each" },
  { mode: "build", name: "Approve, and ask before each change" },
  { mode: undefined, name: "Keep planning" },
] as const;

/** Ends planning: the person approves the plan, edits it or refuses it. */
export function submitPlan(
  isPlanning: () => boolean,
  setMode: (modeId: string) => Promise<void>,
): AgentTool {
  return {
    name: "submit_plan",
    description:
      "Gives the person your plan, when it is complete. If they approve it, you go on to build it " +
      "in the same turn.",
    inputSchema: inputOf(
      {
        plan: {
          type: "string",
          minLength: 1,
          description: "Markdown: what is done where and why, how it is checked, what is left out.",
        },
      },
      ["plan"],
    ),
    example: {
      plan: "1. `src/parser.ts`: accept empty lines.\n2. A test.\nChecked by `npm test`.",
    },
    kind: "switch_mode",
    need: "nothing",
    timeout: NO_TIMEOUT,
    fits: isPlanning,
    title: () => "Plan",
    async call(args, work) {
      const { plan } = args as { plan: string };
      if (!isPlanning()) return { text: "You are not planning: go on and build.", isError: true };
      const content = [textContent(plan)];
      await work.show({ content });
      const names = WAYS.map(({ name }) => name);
      let [way, agreed] = [-1, plan];
      if (work.client.elicit !== undefined) {
        const fields = {
          decision: { type: "string", title: "Go on?", enum: names },
          plan: { type: "string", title: "The plan, which you can edit", default: plan },
        };
        const filled = await filledIn(work, `The plan:\n\n${plan}`, fields, ["decision"]);
        way = names.findIndex((name) => name === filled?.decision);
        if (typeof filled?.plan === "string" && filled.plan.trim() !== "") agreed = filled.plan;
      } else {
        const options = WAYS.map(({ name, mode }) => ({ name, isNo: mode === undefined }));
        way = (await work.choose({ title: "Plan", content, options })) ?? -1;
      }
      const mode = WAYS[way]?.mode;
      const edited = agreed === plan ? "" : ` They have changed it; this counts:\n\n${agreed}\n`;
      if (mode === undefined) {
        const next = "Ask what they want to be different, and end your turn.";
        return { text: `The person did not approve the plan.${edited} ${next}`, content };
      }
      await setMode(mode);
      return { text: `The person approved the plan.${edited} Carry it out now.`, content };
    },
  };
}

interface PlanEntry {
  readonly content: string;
  readonly status?: string;
  readonly priority?: string;
}

export const updatePlan: AgentTool = {
  name: "update_plan",
  description:
    "Shows the person the steps of the work and how far each is. Give all of them each time.",
  inputSchema: inputOf(
    {
      entries: {
        type: "array",
        maxItems: 100,
        items: inputOf(
          {
            content: { type: "string", minLength: 1 },
            status: { enum: ["pending", "in_progress", "completed"] },
            priority: { enum: ["high", "medium", "low"] },
          },
          ["content"],
        ),
      },
    },
    ["entries"],
  ),
  example: {
    entries: [
      { content: "Write a test that fails", status: "completed" },
      { content: "Fix parse()", status: "in_progress" },
    ],
  },
  kind: "think",
  need: "nothing",
  title: () => "Update the plan",
  async call(args, work) {
    const { entries } = args as unknown as { entries: readonly PlanEntry[] };
    await work.plan(
      entries.map(({ content, status = "pending", priority = "medium" }) => {
        return { content, status, priority };
      }),
    );
    return { text: "The person sees the plan." };
  },
};

import { type AgentTool, inputOf } from "./agent-tool.ts";

interface Entry {
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
    const { entries } = args as unknown as { entries: readonly Entry[] };
    await work.plan(
      entries.map(({ content, status = "pending", priority = "medium" }) => {
        return { content, status, priority };
      }),
    );
    return { text: "The person sees the plan." };
  },
};

/** What a tool needs to be allowed to do. */
export type ToolAccess = "nothing" | "write" | "run";

export interface Mode {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly may: readonly ToolAccess[];
  /** File changes are made without a question. */
  readonly acceptsEdits?: boolean;
  /** What the model is told about it. */
  readonly instruction: string;
}

const BUILD: Mode = {
  id: "build",
  name: "Build",
  description: "Reads, writes and runs what the task needs, and asks before it does",
  may: ["nothing", "write", "run"],
  instruction: "You may change files and run commands. Each change is shown to the person first.",
};

export const MODES: readonly Mode[] = [
  BUILD,
  {
    id: "auto-accept",
    name: "Auto-accept",
    description: "Writes files without asking, and asks before it runs anything",
    may: ["nothing", "write", "run"],
    acceptsEdits: true,
    instruction:
      "You may change files, which the person sees but is not asked about. They are asked before " +
      "a command is run.",
  },
  {
    id: "architect",
    name: "Architect",
    description: "Plans; may run commands to find out, but writes no files until you approve",
    may: ["nothing", "run"],
    instruction:
      "You are to plan, not to build: you cannot write files. Find out what there is, ask what is " +
      "open, then give the person the plan with submit_plan: what is to be done, where and why. " +
      "When they approve it, build it.",
  },
  {
    id: "ask",
    name: "Ask",
    description: "Answers questions about the code; can neither write nor run anything",
    may: ["nothing"],
    instruction: "You are to answer questions. You can neither write files nor run commands.",
  },
];

export const FIRST_MODE = BUILD;

export function modeOf(id: string | undefined): Mode | undefined {
  return MODES.find((mode) => mode.id === id);
}

import { recordingChanges } from "../files/command-changes.ts";
import { fencedEnd, fenced } from "./shown-content.ts";
import { type LineEnd, runInTerminal, runLine } from "../files/run-line.ts";
import { type AgentTool, type Consent, inputOf, textContent, type ToolWork } from "./agent-tool.ts";

const TIMEOUT = 120_000;
const LONGEST = 1_800_000;
/** Milliseconds between two updates with the output of a command. */
const SHOW_EVERY = 500;

interface Input {
  readonly command: string;
  readonly cwd?: string;
  readonly timeout_ms?: number;
}

export const runCommand: AgentTool = {
  name: "run_command",
  description:
    "Runs a command line in a shell, in the workspace's folder. It cannot be answered when it " +
    "asks something, and ends with what it started.",
  inputSchema: inputOf(
    {
      command: { type: "string", minLength: 1 },
      cwd: { type: "string", description: "A folder of the workspace." },
      timeout_ms: { type: "integer", minimum: 1, maximum: LONGEST, description: "Default 120000." },
    },
    ["command"],
  ),
  kind: "execute",
  need: "run",
  // The command line has its own timeout.
  timeout: LONGEST + 10_000,
  title: ({ command }) => String(command),
  async call(args, work) {
    const { command, cwd = ".", timeout_ms: timeout = TIMEOUT } = args as unknown as Input;
    const target = await work.files.workspace.find(cwd);
    await work.allow(consentToRun(command, target.name));
    const { output, end, isOk } = await runShown(work, command, target.path, timeout);
    return { text: `${output.trimEnd()}\n(${end})`.trimStart(), isError: !isOk, content: [] };
  },
};

/** The request for consent to a command line. */
export function consentToRun(line: string, folder = "."): Consent {
  const where = folder === "." ? "" : ` in ${folder}`;
  return {
    subject: `run ${line}${where}`,
    covers: `exactly this command${where}`,
    title: line,
    content: [textContent(`${where === "" ? "" : `In ${folder}:\n\n`}${fenced(line)}`)],
  };
}

/** Runs a command line in the editor's terminal or here, and records its changes for `/undo`. */
export async function runShown(
  work: ToolWork,
  line: string,
  cwd: string,
  timeout: number,
): Promise<LineEnd> {
  await work.files.journal.ran(line);
  return recordingChanges(work.files, () => runVisibly(work, line, cwd, timeout));
}

async function runVisibly(
  work: ToolWork,
  line: string,
  cwd: string,
  timeout: number,
): Promise<LineEnd> {
  const { stop, client } = work;
  const command = { line, cwd, timeout, stop, identity: await work.actsAs?.(cwd) };
  // A command may run long without output.
  const alive = setInterval(() => work.progressed(), 5_000);
  try {
    if (client.terminal !== undefined) {
      return await runInTerminal(client.terminal, command, async (terminalId) => {
        await work.show({ content: [{ type: "terminal", terminalId }] });
      });
    }
    let shownAt = 0;
    const ran = await runLine(command, (output) => {
      const now = performance.now();
      if (now - shownAt < SHOW_EVERY) return;
      shownAt = now;
      work.show({ content: [textContent(fencedEnd(output.text))] }).catch(() => {});
    });
    await work.show({ content: [textContent(fencedEnd(`${ran.output.trimEnd()}\n(${ran.end})`))] });
    return ran;
  } finally {
    clearInterval(alive);
  }
}

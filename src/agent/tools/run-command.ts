import { TrunklineError } from "../../base/errors.ts";
import { recordingChanges } from "../files/turn-files.ts";
import { type Confinement, confinementNotes } from "../files/command-sandbox.ts";
import { startInBackground } from "../background/background-tools.ts";
import { inCodeBlock, fencedEnd, HostQuestions } from "./tool-runner.ts";
import { type CommandLine, type LineEnd, runInTerminal, runLine } from "../files/run-line.ts";
import { type AgentTool, inputOf, textContent, type ToolWork } from "./agent-tool.ts";

const TIMEOUT = 120_000;
const LONGEST = 1_800_000;
/** Milliseconds between two updates with the output of a command. */
const SHOW_EVERY = 500;

interface Input {
  readonly command: string;
  readonly cwd?: string;
  readonly timeout_ms?: number;
  readonly outside_sandbox?: boolean;
  readonly background?: boolean;
}

export const runCommand: AgentTool = {
  name: "run_command",
  description:
    "Runs a command line in a shell, in the workspace's folder. It cannot be answered when it " +
    "asks something, and ends with what it started. Where there is a sandbox, it sees and changes " +
    "the workspace, /tmp and a home of its own, sees the system's programs and toolchains, and the " +
    "person is asked about each host that it connects to.",
  inputSchema: inputOf(
    {
      command: { type: "string", minLength: 1 },
      cwd: { type: "string", description: "A folder of the workspace." },
      timeout_ms: { type: "integer", minimum: 1, maximum: LONGEST, description: "Default 120000." },
      background: {
        type: "boolean",
        description:
          "For what does not end, such as a server: it goes on until it is stopped or the session " +
          "ends, without a timeout.",
      },
      outside_sandbox: {
        type: "boolean",
        description:
          "Only for a command that has failed because of the sandbox, or surely would, such as " +
          "`git push` over SSH or `docker`. The person is asked.",
      },
    },
    ["command"],
  ),
  example: { command: "npm test -- src/parser", timeout_ms: 300_000 },
  kind: "execute",
  need: "run",
  // The command line has its own timeout.
  timeout: LONGEST + 10_000,
  title: ({ command }) => String(command),
  async call(args, work) {
    const input = args as unknown as Input;
    const { command, cwd = ".", timeout_ms: timeout = TIMEOUT, background: isLasting } = input;
    const { outside_sandbox: isWished } = input;
    if (isWished === true && work.sandbox?.mayBeLeft === false) {
      const why = "`agent.sandbox` is `on`, so commands run in the sandbox or not at all";
      throw new TrunklineError("usage", `Cannot run it outside of the sandbox: ${why}.`);
    }
    const target = await work.files.workspace.find(cwd);
    const isOutside = await allowToRun(work, command, target.name, isWished);
    if (isLasting === true) return startInBackground(work, command, target.path, isOutside);
    const ran = await runShown(work, command, target.path, timeout, isOutside);
    const { output, end, isOk } = ran;
    return { text: `${output.trimEnd()}\n(${end})`.trimStart(), isError: !isOk, content: [] };
  },
};

/** Waits for consent to a command line. Returns whether it runs outside of a sandbox. */
export async function allowToRun(
  { sandbox, allow }: Pick<ToolWork, "sandbox" | "allow">,
  line: string,
  folder = ".",
  isWished = false,
): Promise<boolean> {
  const isThere = sandbox !== undefined && !isWished && (await sandbox.isThere());
  const confined = isThere ? "in" : isWished ? "left" : "none";
  const isOutside = sandbox !== undefined && !isThere;
  const isHere = folder === ".";
  const covers = `exactly this command${isHere ? "" : ` in ${folder}`}`;
  const content = textContent(`${isHere ? "" : `In ${folder}:\n\n`}${inCodeBlock(line)}`);
  const where = isWished ? "Outside of the sandbox" : "Without a sandbox";
  const warning = `${where}: it can read and change all that you can, and reach the network.`;
  await allow({
    // Consent to a line in a sandbox does not cover the same line without one.
    subject: { action: "run", command: line, folder, sandbox: confined },
    ...(isOutside
      ? {
          title: `${where}: ${line}`,
          covers: `${covers}, ${where.toLowerCase()}`,
          content: [textContent(warning), content],
          needsPerson: true,
        }
      : { title: line, covers, content: [content] }),
  });
  return isOutside;
}

/** Runs a command line in the editor's terminal or here, and records its changes for `/undo`. */
export async function runShown(
  work: ToolWork,
  line: string,
  cwd: string,
  timeout: number,
  isOutside = false,
): Promise<LineEnd> {
  await work.files.journal.ran(line);
  return recordingChanges(work.files, async () => {
    const identity = await work.actsAs?.(cwd, work.sessionId);
    const command = { line, cwd, timeout, signal: work.signal, identity };
    // A command may run long without output.
    using _ = setInterval(() => work.progressed(), 5_000);
    return await runVisibly(work, command, isOutside);
  });
}

async function runVisibly(
  work: ToolWork,
  command: CommandLine,
  isOutside: boolean,
): Promise<LineEnd> {
  const questions = new HostQuestions(work.allow);
  const asks = (host: string): Promise<boolean> => questions.ask(host);
  await using entered = new AsyncDisposableStack();
  const confinement = entered.use(isOutside ? undefined : await work.sandbox?.enter(asks));
  const { terminal } = work.client;
  // A terminal of the editor is outside of the sandbox.
  if (confinement === undefined && terminal !== undefined) {
    return await runInTerminal(terminal, command, async (terminalId) => {
      await work.show({ content: [{ type: "terminal", terminalId }] });
    });
  }
  let shownAt = 0;
  const { confine } = confinement ?? {};
  const pauses: CommandLine["pauses"] = (pausedWhile) => (questions.pausedWhile = pausedWhile);
  const ended = await runLine({ ...command, confine, pauses }, (output) => {
    const now = performance.now();
    if (now - shownAt < SHOW_EVERY) return;
    shownAt = now;
    work.show({ content: [textContent(fencedEnd(output.text))] }).catch(() => {});
  });
  await entered.disposeAsync();
  const ran = confinement === undefined ? ended : explained(ended, confinement, work);
  await work.show({ content: [textContent(fencedEnd(`${ran.output.trimEnd()}\n(${ran.end})`))] });
  return ran;
}

/** Paths that are said to be missing. */
const MISSING =
  /(\/[^\s'":,;()]+)['"]?(?:: no such file| \(no such file|.{0,40}ENOENT)|ENOENT[^/\n]*(\/[^\s'":,;()]+)|no such file or directory:?[^/\n]{0,5}(\/[^\s'":,;()]+)/gi;

/** What programs say when it is the sandbox that is in their way. */
const SIGNS =
  /read-only file system|EROFS|permission denied|EACCES|operation not permitted|could not resolve|getaddrinfo|name resolution|network is unreachable|ECONNREFUSED|docker daemon|failed to sign|could not read username|resource busy/i;

/** Tells the model what the sandbox had a part in, so that it looks for no other reason. */
function explained(ended: LineEnd, confinement: Confinement, work: ToolWork): LineEnd {
  const notes = confinementNotes(confinement);
  if (!ended.isOk && SIGNS.test(ended.output)) {
    notes.push(...confinement.limits.map((limit) => `Git: ${limit}.`));
  }
  if (!ended.isOk && notes.length === 0 && SIGNS.test(ended.output)) {
    const next =
      work.sandbox?.mayBeLeft === true ? " If so, set outside_sandbox to ask for more." : "";
    notes.push(
      "It ran in a sandbox: only the workspace, /tmp and a home of its own can be changed, and the " +
        `network is reached by HTTP proxy alone. This may be why it failed.${next}`,
    );
  }
  const [hidden] = ended.isOk
    ? []
    : missingIn(ended.output).filter((it) => !confinement.isShown(it));
  if (hidden !== undefined) {
    const rule = "it sees the workspace, the system's programs, toolchains and a home of its own";
    notes.push(
      `'${hidden}' is not shown in the sandbox: ${rule}. The person can name it in ` +
        "`agent.files.show`, and variables in `agent.variables`.",
    );
  }
  if (notes.length === 0) return ended;
  return { ...ended, output: `${ended.output.trimEnd()}\n${notes.join("\n")}` };
}

function missingIn(output: string): string[] {
  return Array.from(output.matchAll(MISSING), ([, ...paths]) => paths.find(Boolean) ?? "");
}

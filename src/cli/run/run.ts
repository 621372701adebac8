import { existsSync } from "node:fs";
import { resolve } from "node:path";

import { requireModel } from "../../agent/open/offered-agents.ts";
import { background } from "../../base/background.ts";
import { defined } from "../../base/defined.ts";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { counted } from "../../base/text/counted.ts";
import { AppContext } from "../../config/app-context.ts";
import type { FileChange, RunTarget } from "../../run/deliver.ts";
import { findRevision } from "../../run/open/find-revision.ts";
import { hasUncommitted } from "../../git/remote-revision.ts";
import { offerAgent } from "../agent/offer-agents.ts";
import { attachTo, type Ended } from "../../protocol/acp/attach.ts";
import { openChannel } from "../session/attach.ts";
import { permitting } from "../session/questions.ts";
import { conversationText } from "../transcript/conversation-text.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { gatewayOf } from "../shell/gateway-url.ts";
import { openQuietApp } from "../shell/open-app.ts";

/** The commands about the result of a run, which take an id. */
const RESULTS: ReadonlySet<string> = new Set(["show", "log", "diff", "patch"]);

type RunValues = OptionValues<
  "revision" | "agent" | "url",
  "pull-request" | "retry-setup" | "yes" | "unsafe-no-sandbox"
>;

/** `trunkline run REPO PROMPT`: one turn of an agent on a repository, and the branch that it made. */
export async function run(invocation: Invocation<RunValues>): Promise<number> {
  const { values, positionals, cwd, env, out, err, color, width, data } = invocation;
  const [repository = "", prompt = ""] = positionals;
  // A prompt of one word is more likely an id that was typed wrong.
  const isWord = !/\s/.test(prompt);
  if (isWord && RESULTS.has(repository) && !existsSync(resolve(cwd, repository))) {
    const form = "it is that of its session, such as 0b9e4c1d-…, or its first 8 characters";
    const next = "`trunkline session list` shows the ids";
    const says = `'${prompt.slice(0, 64)}' is not the id of a run: ${form}. ${next}.`;
    throw new TrunklineError("usage", says);
  }
  const url = gatewayOf(invocation);
  const { "unsafe-no-sandbox": noSandbox } = values;
  if (noSandbox === true && values.url !== undefined) {
    const why = "the server at --url decides about its sandbox by itself";
    throw new TrunklineError("usage", `Cannot use --unsafe-no-sandbox: ${why}.`);
  }
  let app = await openQuietApp(invocation, { noSandbox });
  let { agent } = values;
  if (url === undefined && !prompt.startsWith("/")) {
    const added = await offerAgent(invocation, app, agent);
    if (added !== undefined) app = await openQuietApp(invocation, { noSandbox });
    agent = added ?? agent;
    // Before the repository is fetched and set up.
    await requireModel(app, env, agent);
  }
  const isHere = url === undefined;
  const found = await findRevision(app, repository, values.revision, cwd, { isHere });
  const { isLocal = false, ...remote } = found;
  // The person has named the folder, so this one run may fetch from it and push to it.
  if (isLocal) app = withFiles(app);
  if (values.revision === undefined && (await hasUncommitted(repository, cwd))) {
    err("The agent does not get your changes that are not committed.\n");
  }
  const show = values.json === true ? () => {} : out;
  show(`Working on ${visibleLine(remote.url)} at ${remote.revision.slice(0, 12)} …\n`);
  const text = conversationText({ color, width });
  await using opened = new AsyncDisposableStack();
  const channel = await openChannel(app, opened, url, env);
  const wanted = {
    remote,
    agent,
    pullRequest: values["pull-request"],
    retrySetup: values["retry-setup"],
  };
  await using session = await attachTo(channel, wanted, {
    update: (update) => show(text.update(update)),
    queued: (message) => err(`${message}\n`),
    ...permitting(
      {
        isYes: values.yes === true,
        isSilent: values.json === true,
        out: (question) => out(text.rest() + question),
        err: (words) => {
          show(text.rest());
          err(words);
        },
      },
      opened,
    ),
  });
  const lost = session.ended.then((): never => {
    const says = "The server closed the connection. If it still runs, the turn goes on there.";
    throw new TrunklineError("unavailable", says);
  });
  const cancelling = untilSignal().then(() => session.cancel());
  background(cancelling, "Cancelling a run");
  const ended: Ended = await Promise.race([session.prompt(prompt), lost]).finally(() =>
    show(text.end()),
  );
  const result: RunResult = runResult(session.sessionId, ended);
  if (values.json === true) data(`${JSON.stringify(result)}\n`);
  else out(resultText(result));
  return result.isGood ? 0 : 1;
}

function withFiles({ config, reloading }: AppContext): AppContext {
  const { remote } = config;
  const protocols = [...remote.protocols, "file" as const];
  return new AppContext({ ...config, remote: { ...remote, protocols } }, reloading);
}

/** A pull request, or why there is none and where a person opens one. */
interface PullRequest {
  readonly url?: string;
  readonly number?: number;
  readonly error?: string;
  readonly page?: string;
}

/** The result of a run, as `--json` prints it. */
interface RunResult {
  readonly session: string;
  readonly stopReason: string;
  /** `pushed`, `unchanged`, `refused` or `unpushed`; absent if the turn ended before the delivery. */
  readonly run?: string;
  readonly target?: RunTarget;
  readonly changes?: readonly FileChange[];
  readonly pullRequest?: PullRequest;
  readonly isGood: boolean;
}

/** The result of a turn, from the metadata of the server's answer. */
export function runResult(session: string, { stopReason, _meta }: Ended): RunResult {
  const { target, trunkline } = (_meta ?? {}) as {
    target?: RunTarget;
    trunkline?: Partial<RunResult>;
  };
  const { run, changes, pullRequest } = trunkline ?? {};
  return {
    session,
    stopReason,
    ...defined({ run, target, changes, pullRequest }),
    isGood: run === "pushed" || run === "unchanged",
  };
}

/** The branch comes last, since people look for it. */
export function resultText(result: RunResult): string {
  const { session, stopReason, run, target, changes = [], pullRequest } = result;
  const again = `Continue with \`trunkline session attach ${session}\`.`;
  if (run === undefined) return `\nThe turn ended early (${stopReason}). ${again}\n`;
  if (run === "unchanged") return "\nNothing was changed.\n";
  if (target === undefined || run !== "pushed") return `\nNo branch was pushed. ${again}\n`;
  const { branch, url } = target;
  const fetch = `git fetch ${visibleLine(url)} ${visibleLine(branch)}`;
  return `\n${diffstat(changes)}\n${requestText(pullRequest)}${fetch}\n${visibleLine(branch)}\n`;
}

/** The reason why there is none was printed when the turn ended. */
function requestText({ url, number, page }: PullRequest = {}): string {
  if (number !== undefined) return `Pull request #${number}: ${visibleLine(url ?? "")}\n`;
  return page === undefined ? "" : `Open a pull request yourself: ${visibleLine(page)}\n`;
}

const WIDEST = 40;

/** As `git diff --stat` shows it. */
function diffstat(changes: readonly FileChange[]): string {
  const width = Math.max(0, ...changes.map(({ path }) => path.length));
  const most = Math.max(WIDEST, ...changes.map(({ added, removed }) => added + removed));
  const marks = (count: number, mark: string): string =>
    mark.repeat(Math.ceil((count * WIDEST) / most));
  const lines = changes.map(({ path, added, removed }) => {
    const bar = `${marks(added, "+")}${marks(removed, "-")}`;
    return ` ${visibleLine(path).padEnd(width)} | ${String(added + removed).padStart(5)} ${bar}\n`;
  });
  const sum = (of: "added" | "removed"): number =>
    changes.reduce((total, change) => total + change[of], 0);
  const files = `${counted(changes.length, "file")} changed`;
  const added = `${counted(sum("added"), "line")} added`;
  return `${lines.join("")} ${files}, ${added}, ${sum("removed")} removed\n`;
}

import { createInterface } from "node:readline";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { ownAcpChannel, remoteAcpChannel } from "../../gateway/door/acp-channel.ts";
import { ownerTokenFor } from "../../gateway/http/local-gateway.ts";
import { findRevision } from "../../gateway/runs/find-revision.ts";
import { untilSignal } from "../../gateway/long-running.ts";
import { attachTo, type AttachOptions, type Ended } from "../../protocol/acp/attach.ts";
import { Questions, questionText } from "../session/questions.ts";
import { SessionText } from "../session/session-text.ts";
import type { Invocation } from "../shell/command.ts";
import { readGatewayUrl } from "../shell/gateway-url.ts";
import { quietHouse } from "../shell/open-house.ts";
import { resultText, type RunResult, runResult } from "./run-result.ts";

interface RunValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly revision?: string;
  readonly agent?: string;
  readonly url?: string;
  readonly "pull-request"?: boolean;
  readonly "retry-setup"?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
  readonly "unsafe-no-sandbox"?: boolean;
}

type Permit = AttachOptions["permit"];

/** `trunkline run REPO PROMPT`: one turn of an agent on a repository, and the branch that it made. */
export async function run(invocation: Invocation<RunValues>): Promise<number> {
  const { values, positionals, cwd, env, out, err, color, data } = invocation;
  const [repository = "", prompt = ""] = positionals;
  const { url, warning } = values.url === undefined ? {} : readGatewayUrl(values.url);
  if (warning !== undefined) err(`${warning}\n`);
  const { "unsafe-no-sandbox": noSandbox } = values;
  if (noSandbox === true && values.url !== undefined) {
    const why = "the server at --url decides about its sandbox by itself";
    throw new TrunklineError("usage", `Cannot use --unsafe-no-sandbox: ${why}.`);
  }
  const house = await quietHouse(invocation, { noSandbox });
  const remote = await findRevision(house, repository, values.revision, cwd);
  const show = values.json === true ? () => {} : out;
  show(`Working on ${visibleLine(remote.url)} at ${remote.revision.slice(0, 12)} …\n`);
  const text = new SessionText(color);
  await using opened = new AsyncDisposableStack();
  const channel =
    url === undefined
      ? ownAcpChannel(house, opened)
      : await remoteAcpChannel(url, await tokenFor(house.config.data, url, env));
  const wanted = {
    remote,
    agent: values.agent,
    pullRequest: values["pull-request"],
    retrySetup: values["retry-setup"],
  };
  await using session = await attachTo(channel, wanted, {
    update: (update) => show(text.update(update)),
    permit: permitting(invocation, opened),
  });
  const lost = session.ended.then((): never => {
    throw new Error("The server closed the connection. The turn goes on there.");
  });
  background(
    untilSignal().then(() => session.cancel()),
    "Cancelling a run",
  );
  const ended: Ended = await Promise.race([session.prompt(prompt), lost]);
  const result: RunResult = runResult(session.sessionId, ended);
  if (values.json === true) data(`${JSON.stringify(result)}\n`);
  else out(resultText(result));
  return result.isGood ? 0 : 1;
}

/** A gateway of ours on this machine is sent our token; another, the one that was given. */
async function tokenFor(
  data: string,
  url: string,
  { TRUNKLINE_TOKEN }: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  return TRUNKLINE_TOKEN ?? (await ownerTokenFor(data, url))?.token;
}

/** Who answers what the agent asks: `--yes`, a person at a terminal, or nobody, who refuses. */
function permitting(
  { values, out, err }: Invocation<RunValues>,
  opened: AsyncDisposableStack,
): Permit {
  if (values.yes === true) return ({ options }) => Promise.resolve(optionOf(options, "allow"));
  if (!process.stdin.isTTY || values.json === true) {
    return ({ toolCall, options }) => {
      const { title = "what it asked" } = toolCall as { title?: string };
      err(`Refused: ${visibleLine(title)}. --yes allows it.\n`);
      return Promise.resolve(optionOf(options, "reject"));
    };
  }
  const questions = new Questions(out);
  const input = createInterface({ input: process.stdin });
  opened.defer(() => input.close());
  input.on("line", (line) => questions.answer(line));
  return async ({ toolCall, options }, signal) => {
    const names = options.map(({ name }) => name);
    const chosen = await questions.ask(questionText(toolCall), names, signal);
    return chosen === undefined ? undefined : options[chosen]?.optionId;
  };
}

/** The narrowest of the options that allow, or that refuse; null where there is none. */
function optionOf(
  options: Parameters<Permit>[0]["options"],
  what: "allow" | "reject",
): string | null {
  const fitting = options.filter(({ kind }) => kind.startsWith(what));
  const option = fitting.find(({ kind }) => kind.endsWith("_once")) ?? fitting[0];
  return option?.optionId ?? null;
}

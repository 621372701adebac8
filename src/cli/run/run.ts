import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { findRevision } from "../../run/open/find-revision.ts";
import { hasUncommitted } from "../../git/remote-revision.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { attachTo, type Ended } from "../../protocol/acp/attach.ts";
import { openChannel } from "../session/open-channel.ts";
import { permitting } from "../session/permitting.ts";
import { SessionText } from "../session/session-text.ts";
import type { Invocation } from "../shell/command.ts";
import { readGatewayUrl } from "../shell/gateway-url.ts";
import { openQuietApp } from "../shell/open-app.ts";
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
  const app = await openQuietApp(invocation, { noSandbox });
  const remote = await findRevision(app, repository, values.revision, cwd);
  if (values.revision === undefined && (await hasUncommitted(repository, cwd))) {
    err("The agent does not get your changes that are not committed.\n");
  }
  const show = values.json === true ? () => {} : out;
  show(`Working on ${visibleLine(remote.url)} at ${remote.revision.slice(0, 12)} …\n`);
  const text = new SessionText(color);
  await using opened = new AsyncDisposableStack();
  const channel = await openChannel(app, opened, url, env);
  const wanted = {
    remote,
    agent: values.agent,
    pullRequest: values["pull-request"],
    retrySetup: values["retry-setup"],
  };
  await using session = await attachTo(channel, wanted, {
    update: (update) => show(text.update(update)),
    queued: (message) => err(`${message}\n`),
    permit: permitting(
      { isYes: values.yes === true, isSilent: values.json === true, out, err },
      opened,
    ),
  });
  const lost = session.ended.then((): never => {
    const says = "The server closed the connection. If it still runs, the turn goes on there.";
    throw new TrunklineError("unavailable", says);
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

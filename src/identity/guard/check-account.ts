import { parseRemoteUrl, type RemoteUrl, USUAL_PORTS } from "../../base/remote-url.ts";
import { type ProgramEnd, runProgram } from "../../git/run-program.ts";
import { parseCredential } from "../credential/credential-text.ts";
import { sshCommand } from "../git-settings.ts";
import { hostText } from "../../base/address.ts";
import type { Identity } from "../identity.ts";
import type { GitContext } from "../detect/git-context.ts";
import type { GuardProblem } from "./verdict.ts";

const TIMEOUT = 10_000;
const MAX_OUTPUT = 1024 * 1024;

/** Checks which account a push would use, as far as git and ssh can tell. */
export async function checkAccount(
  identity: Identity,
  url: string,
  context: GitContext,
  env: NodeJS.ProcessEnv,
): Promise<GuardProblem[]> {
  const remote = parseRemoteUrl(url);
  if (remote.problem !== undefined && remote.transport in USUAL_PORTS) {
    return [account(`Cannot tell where the remote's URL leads: ${remote.problem}.`)];
  }
  if (remote.transport === "ssh") return await checkKey(identity, remote, context, env);
  if (remote.transport === "https" || remote.transport === "http") {
    return await checkCredential(identity, remote, context, env);
  }
  return [];
}

/** Asks ssh, started as git would start it, which key it would offer first. */
async function checkKey(
  identity: Identity,
  { user, host = "", port }: RemoteUrl,
  { config, git }: GitContext,
  env: NodeJS.ProcessEnv,
): Promise<GuardProblem[]> {
  const { sshKey, name } = identity;
  if (sshKey === undefined) return [];
  const command = env.GIT_SSH_COMMAND ?? config.get("core.sshCommand") ?? env.GIT_SSH ?? "ssh";
  if (command === sshCommand(sshKey)) return [];
  const where = user === undefined ? host : `${user}@${host}`;
  const args = [...(port === undefined ? [] : ["-p", String(port)]), "-G", where];
  let end: ProgramEnd;
  try {
    end = await runProgram({
      command: "/bin/sh",
      args: ["-c", `${command} "$@"`, "ssh", ...args],
      env: git.env,
      timeout: TIMEOUT,
      maxOutput: MAX_OUTPUT,
    });
  } catch (error) {
    return [account(`Cannot find out which key ssh would use: ${(error as Error).message}.`)];
  }
  const text = end.stdout.toString("utf8");
  const [first = ""] = [...text.matchAll(/^identityfile (.*)$/gm)].map((found) => found[1] ?? "");
  const path = first.replace(/^~(?=\/)/, git.env.HOME ?? "~");
  const isOnly = /^identitiesonly yes$/m.test(text);
  if (end.code === 0 && path === sshKey && isOnly) return [];
  const offers = path === sshKey ? "the agent's keys before" : `'${first || "no key"}' instead of`;
  return [account(`ssh would offer ${offers} the key of '${name}' (${sshKey}).`)];
}

/** Asks git's credential helpers who they would log in as. */
async function checkCredential(
  identity: Identity,
  remote: RemoteUrl,
  { git }: GitContext,
  env: NodeJS.ProcessEnv,
): Promise<GuardProblem[]> {
  const { transport, path, user } = remote;
  const { name, user: wanted } = identity;
  if (user !== undefined && wanted !== undefined && user !== wanted) {
    return [account(`The remote's URL has user '${user}', but '${name}' is user '${wanted}'.`)];
  }
  const input = [
    `protocol=${transport}`,
    `host=${hostText(remote)}`,
    `path=${path.replace(/^\//, "")}`,
    ...(user === undefined ? [] : [`username=${user}`]),
    "",
    "",
  ].join("\n");
  // Credential helpers depend on all kinds of variables.
  const own = Object.entries(env).filter(([variable]) => !variable.startsWith("GIT_"));
  // No prompts, neither in the terminal nor in a window.
  const quiet = {
    ...Object.fromEntries(own),
    GIT_ASKPASS: "",
    SSH_ASKPASS: "",
    GCM_INTERACTIVE: "never",
  };
  // This runs the configured helpers; the push that triggered the hook has already run them.
  const { code, stdout, stderr } = await git.run(["credential", "fill"], {
    mode: "write",
    input,
    env: quiet,
    accepts: [0, 1, 128],
    timeout: TIMEOUT,
  });
  if (code !== 0) {
    const said = /^trunkline: (.*)$/m.exec(stderr)?.[1];
    const next = `Store a token with \`trunkline identity token set ${name}\``;
    return [
      account(said ?? `There is no credential for '${name}' at ${hostText(remote)}. ${next}.`),
    ];
  }
  const { username } = parseCredential(stdout.toString("utf8"));
  if (wanted === undefined || username === wanted) return [];
  return [account(`Git would log in as '${username}', but '${name}' is user '${wanted}'.`)];
}

function account(says: string): GuardProblem {
  return { kind: "account", says };
}

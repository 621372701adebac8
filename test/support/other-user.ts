import { execFile } from "node:child_process";
import { chmodSync, type DisposableTempDir, mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** `nobody`, as most systems have it. */
export const NOBODY = 65_534;

/** Why no program can be run as another user here; false where one can. */
export const noOtherUser: string | false =
  process.getuid?.() === 0 ? false : "only root can run a program as another user";

/**
 * Has a program that root has started go on as another user, without any of root's rights. So that user
 * need not be able to read this checkout, which may be in a private folder.
 */
export const BECOME_OTHER_USER = `process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});`;

/** The same for the built program, of which it needs a copy (shared-program.ts). */
export const AS_OTHER_USER = [
  "setpriv",
  `--reuid=${NOBODY}`,
  `--regid=${NOBODY}`,
  "--clear-groups",
];

/** A folder whose files another user can reach. The temporary folder is open to all (scripts/test-folder.mjs). */
export function sharedFolder(): DisposableTempDir {
  const folder = mkdtempDisposableSync(join(tmpdir(), "shared-"));
  chmodSync(folder.path, 0o755);
  return folder;
}

export interface RawRequest {
  readonly port: number | string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

/** Sends a request from a program of another user. Answers with what it got. */
export async function asOtherUser(request: RawRequest): Promise<RawAnswer> {
  const [answer] = await allAsOtherUser([request]);
  if (answer === undefined) throw new Error("The program of another user has given no answer");
  return answer;
}

/** Sends one after the other, from one program. */
export async function allAsOtherUser(requests: readonly RawRequest[]): Promise<RawAnswer[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["-e", BECOME_OTHER_USER + SCRIPT],
    {
      env: { REQUESTS: JSON.stringify(requests) },
      cwd: "/",
    },
  );
  return JSON.parse(stdout) as RawAnswer[];
}

/** Runs code as another user. Its output, or how it failed. */
export async function runAsOtherUser(code: string): Promise<string> {
  try {
    const args = ["-e", BECOME_OTHER_USER + code];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: {}, cwd: "/" });
    return stdout;
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
}

const SCRIPT = `
const { request } = require("node:http");
const send = ({ port, method = "GET", path, headers = {}, body }) =>
  new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, method, path, headers, agent: false };
    const call = request(options, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode, body: text }));
    });
    call.on("upgrade", (response) => resolve({ status: response.statusCode, body: "" }));
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
(async () => {
  const answers = [];
  for (const each of JSON.parse(process.env.REQUESTS)) answers.push(await send(each));
  console.log(JSON.stringify(answers));
  process.exit();
})();
`;

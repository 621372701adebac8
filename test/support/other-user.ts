import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** `nobody`, as most systems have it. */
const NOBODY = 65_534;

/** Why no program can be run as another user here; false where one can. */
export const noOtherUser: string | false =
  process.getuid?.() === 0 ? false : "only root can run a program as another user";

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
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", SCRIPT], {
    uid: NOBODY,
    gid: NOBODY,
    env: { REQUESTS: JSON.stringify(requests) },
    cwd: "/",
  });
  return JSON.parse(stdout) as RawAnswer[];
}

/** Runs a program as another user. Its output, or how it failed. */
export async function runAsOtherUser(code: string): Promise<string> {
  try {
    const options = { uid: NOBODY, gid: NOBODY, env: {}, cwd: "/" };
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", code], options);
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

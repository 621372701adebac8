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

/** Sends a request from a program of another user. Answers with what it got. */
export async function asOtherUser(
  request: RawRequest,
): Promise<{ readonly status: number; readonly body: string }> {
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", SCRIPT], {
    uid: NOBODY,
    gid: NOBODY,
    env: { REQUEST: JSON.stringify(request) },
    cwd: "/",
  });
  return JSON.parse(stdout) as { status: number; body: string };
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
const { port, method = "GET", path, headers = {}, body } = JSON.parse(process.env.REQUEST);
const request = require("node:http").request(
  { host: "127.0.0.1", port, method, path, headers },
  (response) => {
    let text = "";
    response.on("data", (chunk) => (text += chunk));
    response.on("end", () => {
      console.log(JSON.stringify({ status: response.statusCode, body: text }));
      process.exit();
    });
  },
);
request.on("upgrade", (response) => {
  console.log(JSON.stringify({ status: response.statusCode, body: "" }));
  process.exit();
});
request.end(body === undefined ? undefined : JSON.stringify(body));
`;

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePort } from "./free-port.ts";

const NGINX = ["nginx", "/usr/sbin/nginx"].find(
  (command) => spawnSync(command, ["-v"]).error === undefined,
);

/** Why there is no nginx to put in front of anything; false where there is. */
export const noNginx: string | false =
  NGINX === undefined ? "needs nginx: apt-get install nginx-light" : false;

/** A real nginx. */
export class Nginx implements AsyncDisposable {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(port: number, child: ChildProcess, folder: string) {
    this.port = port;
    this.#child = child;
    this.#folder = folder;
  }

  /** `settings` is what its `http` block holds, with a server that listens on the port. */
  static async start(settings: (port: number) => string): Promise<Nginx> {
    const folder = mkdtempSync(join(tmpdir(), "trunkline-nginx-"));
    const port = await freePort();
    const file = join(folder, "nginx.conf");
    writeFileSync(file, configuration(folder, settings(port)));
    const child = spawn(NGINX ?? "nginx", ["-c", file, "-p", folder, "-e", join(folder, "error")], {
      stdio: "ignore",
    });
    const proxy = new Nginx(port, child, folder);
    while (!(await isListening(port))) {
      if (child.exitCode !== null) {
        const why = readFileSync(join(folder, "error"), "utf8");
        throw new Error(`nginx ended with ${child.exitCode}: ${why}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await ended;
    rmSync(this.#folder, { recursive: true });
  }
}

/**
 * One that passes on all that comes, as its beginners' guide has it: bare
 * `proxy_pass`. `more` goes into the location, such as what WebSockets need.
 */
export function bareProxy(to: string, more = ""): Promise<Nginx> {
  return Nginx.start(
    (port) => `server { listen 127.0.0.1:${port}; location / { proxy_pass ${to}; ${more} } }`,
  );
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function configuration(folder: string, settings: string): string {
  const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `daemon off;
master_process off;
pid ${folder}/pid;
events {}
http {
  access_log off;
  ${places.join("\n  ")}
  ${settings}
}
`;
}

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";

import { NO_CREDENTIALS } from "../../../test/samples/sample-credentials.ts";
import { ServerRepository } from "../../../test/support/server-repository.ts";
import type { Credentials } from "./credentials.ts";
import { ServerGit, type ServerGitOptions } from "./server-git.ts";

/** A repository, and a program that leaves a mark when git is made to run it. */
class Trap implements Disposable {
  readonly repository = new ServerRepository();
  readonly program = join(this.repository.folder, "trap");

  constructor() {
    this.script(this.program, "cat");
  }

  get isSprung(): boolean {
    return existsSync(`${this.program}-ran`);
  }

  git(options: Partial<ServerGitOptions> = {}): ServerGit {
    const { tree } = this.repository;
    const common = { askpass: "/bin/false", protocols: ["http", "https", "ssh"] };
    const resolve = async (): Promise<string[]> => ["127.0.0.1"];
    return new ServerGit({
      gitDir: join(tree, ".git"),
      workTree: tree,
      resolve,
      ...common,
      ...options,
    });
  }

  script(path: string, then: string): void {
    writeFileSync(path, `#!/bin/sh\ntouch '${this.program}-ran'\n${then}\n`);
    chmodSync(path, 0o755);
  }

  [Symbol.dispose](): void {
    this.repository[Symbol.dispose]();
  }
}

/** A web server of whoever the repository belongs to. */
async function serve(answer: RequestListener) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    asked,
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const list = (git: ServerGit, url: string, credentials: Credentials = NO_CREDENTIALS) =>
  git.run(["ls-remote", "--", url], { remote: { url, credentials } });

describe("ServerGit", () => {
  it("runs no hook, wherever the repository says that they are", async () => {
    using trap = new Trap();
    const { repository } = trap;
    const hooks = join(repository.tree, ".husky");
    mkdirSync(hooks);
    const names = ["pre-commit", "reference-transaction", "post-index-change", "pre-push"];
    for (const name of names) trap.script(join(hooks, name), "");
    repository.run("config", "core.hooksPath", hooks);
    const git = trap.git({ protocols: ["file"] });
    await git.run(["add", "--all"]);
    await git.run(["update-ref", "refs/heads/other", repository.revision]);
    const remote = { url: repository.url, credentials: NO_CREDENTIALS };
    await git.run(["push", "--quiet", "--", repository.url, "HEAD:refs/heads/other"], { remote });
    assert.ok(!trap.isSprung);
  });

  it("asks no file system monitor, of the repository or of one in it", async () => {
    using trap = new Trap();
    const { repository, program } = trap;
    repository.run("config", "core.fsmonitor", program);
    execFileSync("git", ["clone", "--quiet", repository.remote, "nested"], {
      cwd: repository.tree,
    });
    const nested = join(repository.tree, "nested");
    execFileSync("git", ["-C", nested, "config", "core.fsmonitor", program]);
    for (const args of [["status"], ["add", "--all"], ["add", "--all"], ["diff", "HEAD"]]) {
      await trap.git().run(args);
    }
    assert.ok(!trap.isSprung);
  });

  it("heeds no configuration but the repository's, so that attributes name no program", async () => {
    using trap = new Trap();
    const { repository, program } = trap;
    repository.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    repository.write("new", "x");
    const home = repository.folder;
    const settings = { "filter.evil.clean": program, "diff.evil.textconv": program };
    const entries = Object.entries(settings);
    const file = join(home, ".gitconfig");
    for (const [key, value] of entries) {
      execFileSync("git", ["config", "--file", file, key, value]);
    }
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      XDG_CONFIG_HOME: home,
      GIT_CONFIG_GLOBAL: file,
      GIT_CONFIG_SYSTEM: file,
      GIT_CONFIG_COUNT: "2",
      ...Object.fromEntries(
        entries.flatMap(([key, value], at) => [
          [`GIT_CONFIG_KEY_${at}`, key],
          [`GIT_CONFIG_VALUE_${at}`, value],
        ]),
      ),
      GIT_CONFIG_PARAMETERS: entries.map(([key, value]) => `'${key}=${value}'`).join(" "),
      GIT_EXTERNAL_DIFF: program,
      GIT_DIR: "/nonexistent",
    };
    const git = trap.git({ env });
    await git.run(["add", "--all"]);
    await git.run(["diff", "HEAD"]);
    assert.ok(!trap.isSprung);
  });

  it("runs no credential helper, and follows no redirect", async () => {
    using trap = new Trap();
    await using inside = await serve((_, response) => response.end());
    await using remote = await serve(({ url = "" }, response) => {
      if (url.startsWith("/private")) {
        response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
      } else response.writeHead(302, { location: `${inside.url}${url}` }).end();
    });
    trap.repository.run("config", "credential.helper", `!${trap.program}`);
    await assert.rejects(list(trap.git(), `${remote.url}/private`), { code: "untrusted" });
    const noToken = "Identity 'work' has no token.";
    const credentials = { ...NO_CREDENTIALS, noToken };
    await assert.rejects(list(trap.git(), `${remote.url}/private`, credentials), {
      code: "untrusted",
      message: noToken,
    });
    await assert.rejects(list(trap.git(), `${remote.url}/moved`), /302|redirect/);
    assert.equal(remote.asked.length, 3);
    assert.deepEqual(inside.asked, []);
    assert.ok(!trap.isSprung);
  });

  it("uses no transport that runs programs or reads files, nor takes a host for an option", async () => {
    using trap = new Trap();
    const { program, repository } = trap;
    for (const url of [`ext::${program}`, repository.url, repository.remote, "git://localhost/x"]) {
      await assert.rejects(list(trap.git(), url), /transport '\w+' not allowed/, url);
    }
    const option = `ssh://-oProxyCommand=${program.replaceAll("/", "%2F")}/x`;
    await assert.rejects(list(trap.git(), option));
    assert.ok(!trap.isSprung);
  });

  it(
    "uses a repository whose files belong to somebody else",
    { skip: process.getuid?.() !== 0 && "Only root can give files away." },
    async () => {
      using trap = new Trap();
      execFileSync("chown", ["--recursive", "12345:12345", trap.repository.tree]);
      assert.equal(await trap.git().text(["status", "--porcelain"]), "");
    },
  );
});

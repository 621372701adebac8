import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempDisposableSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { RunAgentRig } from "../../../test/samples/run-agent-rig.ts";
import { git } from "../../../test/samples/sample-runs.ts";
import { serveGit, tokenOf } from "../../../test/support/git-rig/forge-server.ts";
import { fetchLfsObjects } from "./lfs.ts";

const TOKEN = "token-of-the-test";
const CONTENT = Buffer.concat([Buffer.from("\0binary\n"), Buffer.alloc(5_000, 7)]);

function oidOf(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function pointerTo(oid: string, size: number): string {
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
}

/** A server on loopback. */
async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    at: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A repository with a file of Git LFS, on a server that wants a token for git and for the batch interface. */
async function withLfs(maxLfs = 10_000) {
  const seen: string[] = [];
  let folder = "";
  const server = await serve((request, response) => {
    const { url = "", headers } = request;
    const { authorization = "none" } = headers;
    if (url.startsWith("/objects/")) {
      seen.push(`object ${authorization} ${String(headers["x-own"])}`);
      response.end(CONTENT);
    } else if (tokenOf(request) !== TOKEN) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end();
    } else if (url.endsWith("/info/lfs/objects/batch")) {
      seen.push(url);
      const oid = oidOf(CONTENT);
      const href = `${server.at}/objects/${oid}`;
      const actions = { download: { href, header: { "x-own": "1" } } };
      response.end(JSON.stringify({ objects: [{ oid, size: CONTENT.length, actions }] }));
    } else serveGit(request, response, folder, "ada");
  });
  const rig = await RunAgentRig.open({
    policy: { allowHosts: [], allowPrivate: true, protocols: ["http"], maxLfs },
    identify: async () => ({
      credentials: { scope: "ada", user: "ada", token: TOKEN },
      author: { name: "Ada", email: "ada@example.com" },
    }),
    lookup: async () => ["127.0.0.1"],
  });
  folder = rig.folder;
  git(rig.remote, "config", "http.receivepack", "true");
  const tree = join(rig.folder, "tree");
  writeFileSync(join(tree, ".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n");
  writeFileSync(join(tree, ".lfsconfig"), "[lfs]\n\turl = http://127.0.0.1:1/evil\n");
  writeFileSync(join(tree, "a.bin"), pointerTo(oidOf(CONTENT), CONTENT.length));
  git(tree, "add", "--all");
  git(tree, "commit", "--quiet", "-m", "LFS");
  git(tree, "push", "--quiet", "origin", "HEAD:main");
  const revision = git(tree, "rev-parse", "HEAD");
  const plan = rig.runs.plan({
    remote: { url: `${server.at}/remote.git`, branch: "main", revision },
  });
  return {
    rig,
    plan,
    seen,
    revision,
    said: () => JSON.stringify(rig.updates),
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("Git LFS in a run", () => {
  it("has the content of files, asked for with the identity's token, which no other address gets", async () => {
    await using sample = await withLfs();
    const { rig, plan, seen, revision } = sample;
    const contents: Buffer[] = [];
    const work = async (cwd: string): Promise<void> => {
      contents.push(readFileSync(join(cwd, "a.bin")));
      assert.equal(git(cwd, "-c", "safe.directory=*", "status", "--porcelain"), "");
      assert.match(git(cwd, "diff", "--stat", "HEAD"), /^$/);
      writeFileSync(join(cwd, "new.txt"), "new\n");
    };
    await using session = await rig.session(work, plan);
    await session.prompt(rig.turn("Look"));
    assert.deepEqual(contents, [CONTENT]);
    assert.deepEqual(seen, ["/remote.git/info/lfs/objects/batch", "object none 1"]);
    const { branch } = (session.settings._meta as { target: { branch: string } }).target;
    const changed = git(rig.remote, "diff", "--name-only", revision, branch);
    assert.equal(changed, "new.txt", "the file of LFS is not a change");
  });

  it("refuses a changed file in words: nobody would have its content", async () => {
    await using sample = await withLfs();
    const { rig, plan } = sample;
    await using session = await rig.session(async (cwd) => {
      writeFileSync(join(cwd, "a.bin"), "other content");
    }, plan);
    const end = await session.prompt(rig.turn("Change"));
    assert.deepEqual(end._meta, { trunkline: { run: "refused" } });
    assert.match(sample.said(), /'a\.bin': .*does not upload/);
  });

  it("takes no object that is another, longer or elsewhere", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "lfs-"));
    const answers = new Map<string, (response: ServerResponse) => void>([
      ["/same-size", (response) => response.end(Buffer.alloc(CONTENT.length))],
      ["/longer", (response) => response.end(Buffer.alloc(1 << 20))],
      ["/shorter", (response) => response.end("x")],
      [
        "/drips",
        (response) => {
          const timer = setInterval(() => response.write("x"), 5);
          response.on("close", () => clearInterval(timer));
        },
      ],
      ["/moved", (response) => response.writeHead(302, { location: "ftp://x/" }).end()],
      ["/round", (response) => response.writeHead(302, { location: "/round" }).end()],
      ["/inside", (response) => response.writeHead(302, { location: "http://inside/" }).end()],
    ]);
    let href = "";
    const object = { oid: oidOf(CONTENT), size: CONTENT.length };
    await using server = await serve(({ url = "" }, response) => {
      const answer = answers.get(url);
      if (answer !== undefined) return answer(response);
      const actions = { download: { href } };
      response.end(JSON.stringify({ objects: [{ ...object, actions }] }));
    });
    const from = {
      url: `${server.at}/team/app.git`,
      credentials: { scope: "" },
      resolve: async (host: string) => (host === "inside" ? [] : ["127.0.0.1"]),
    };
    const expected = {
      "/drips": /sends less than 16 KB in a second/,
      "/same-size": /something other than/,
      "/longer": /more than its \d+ bytes/,
      "/shorter": /something other than/,
      "/moved": /'ftp:' is not HTTPS/,
      "/round": /leads nowhere/,
      "/inside": /'inside' has no address that may be reached/,
      "file:///etc/passwd": /'file:' is not HTTPS/,
    };
    for (const [where, why] of Object.entries(expected)) {
      href = where.startsWith("/") ? server.at + where : where;
      const source = where === "/drips" ? { ...from, patience: 20 } : from;
      await assert.rejects(fetchLfsObjects(source, folder.path, [object]), why);
      assert.deepEqual(readdirSync(folder.path), []);
    }
  });

  it("goes on with pointers where files take more than is allowed", async () => {
    await using sample = await withLfs(10);
    const { rig, plan } = sample;
    await using session = await rig.session(async (cwd) => {
      const text = readFileSync(join(cwd, "a.bin"), "utf8");
      assert.equal(text, pointerTo(oidOf(CONTENT), CONTENT.length));
    }, plan);
    await session.prompt(rig.turn("Look"));
    assert.match(sample.said(), /`remote\.maxLfs` allows 10,/);
  });
});

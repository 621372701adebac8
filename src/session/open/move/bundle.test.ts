import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../../test/samples/sample-command-line.ts";
import { MovingRig, prompts, SESSION, snapshot } from "../../../../test/support/moving-rig.ts";
import { SessionLog } from "../../../store/session/session-log.ts";
import { SessionUsage } from "../../../store/session/session-usage.ts";

type Head = Record<string, unknown> & { files: { name: string; size: number; sha256: string }[] };

/** A bundle, and a way to write it with changes, whose digests are right. */
class Forged {
  readonly #path: string;
  readonly head: Head;
  readonly files = new Map<string, Buffer>();

  constructor(path: string) {
    this.#path = path;
    const all = readFileSync(path);
    let at = all.indexOf("\n") + 1;
    this.head = JSON.parse(all.toString("utf8", 0, at)) as Head;
    for (const { name, size } of this.head.files) {
      this.files.set(name, all.subarray(at, (at += size)));
    }
  }

  async write(): Promise<string> {
    const files = [...this.files].map(([name, content]) => {
      const sha256 = createHash("sha256").update(content).digest("hex");
      return { name, size: content.length, sha256 };
    });
    const line = Buffer.from(`${JSON.stringify({ ...this.head, files })}\n`);
    await writeFile(`${this.#path}.forged`, Buffer.concat([line, ...this.files.values()]));
    return `${this.#path}.forged`;
  }
}

/** A pack with what a script of fast-import makes, and the commits of its work. */
function packOf(folder: string, script: string): Buffer {
  const git = (input: string | undefined, ...args: string[]): Buffer =>
    execFileSync("git", args, { cwd: folder, input });
  git(undefined, "init", "-q", "--bare", ".");
  git(script, "fast-import", "--quiet");
  return git("--all\n", "pack-objects", "--revs", "--stdout", "-q");
}

async function exported(): Promise<{ rig: MovingRig; file: string } & AsyncDisposable> {
  const rig = await MovingRig.create();
  const file = join(rig.laptop.home.path, "session.bundle");
  const { code, err } = await rig.laptop.run("session", "export", SESSION, "--bundle", file);
  assert.equal(code, 0, err);
  return { rig, file, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() };
}

describe("a session in a file", () => {
  it("becomes another session with the same conversation and work", async () => {
    await using at = await exported();
    await using other = await SampleCommandLine.create();
    const { session, folder } = await other.json<{ session: string; folder: string }>(
      ...["session", "import", at.file],
    );
    assert.notEqual(session, SESSION, "two machines would have the same session");
    assert.deepEqual(
      await prompts(other.home.data, session),
      await prompts(at.rig.laptop.home.data),
    );
    const { files, ...rest } = snapshot(at.rig.top) as { files: Record<string, string> };
    const { ".env": _, "node_modules/x/index.js": __, ...carried } = files;
    assert.deepEqual(snapshot(folder), { ...rest, files: carried });
    await using log = await SessionLog.open(other.home.data);
    const usage = new SessionUsage(log.database);
    assert.equal((await usage.ofSession(session)).tokens, 10);
    assert.equal((await usage.ofDay("", "2026-11-19")).tokens, 0, "it is nobody's of today");
    const record = await log.find(session);
    assert.equal(record?.parent, SESSION);
    assert.deepEqual(
      record?.notes.chosen,
      { modelId: "m" },
      "a mode may let an agent work unasked",
    );
  });

  it("has neither the work nor secrets in it if it is to be shared", async () => {
    await using rig = await MovingRig.create();
    const secret = `ghp_${"a1B2".repeat(9)}`;
    {
      await using log = await SessionLog.open(rig.laptop.home.data);
      const { key } = await log.hold(SESSION);
      const prompt = [{ type: "text", text: `My token is ${secret}` }];
      log.append(key, "client", JSON.stringify({ kind: "prompt", turnId: "x", prompt, by: "z" }));
      await log.flush();
      await log.release(key);
    }
    const file = join(rig.laptop.home.path, "shared");
    const args = ["session", "export", SESSION, "--bundle", file, "--share"];
    assert.equal((await rig.laptop.run(...args)).code, 0);
    const text = readFileSync(file, "latin1");
    assert.ok(!text.includes(secret));
    assert.match(text, /My token is/);
    const { head, files } = new Forged(file);
    assert.deepEqual([...files.keys()], ["events"]);
    assert.equal(head.work, undefined);
  });
});

const EVENT = `[1,1,"agent",{"kind":"update","update":{"sessionUpdate":"plan"}}]\n`;

function used({ head }: Forged, amounts: object): void {
  Object.assign((head.usage as object[])[0] ?? {}, amounts);
}

describe("a hostile bundle", () => {
  const cases: Readonly<Record<string, [RegExp, (forged: Forged) => void]>> = {
    "names a file outside": [
      /'session\.files\[.*name' must/,
      (it) => it.files.set("undo/../../evil", Buffer.from("x")),
    ],
    "names a hook": [
      /'session\.files\[.*name' must/,
      (it) => it.files.set("hooks/post-checkout", Buffer.from("x")),
    ],
    "has a folder outside": [
      /its folder '\.\.\/\.\.' is outside of its work tree/,
      (it) => Object.assign(it.head.work as object, { inside: "../.." }),
    ],
    "has events that are none": [
      /its event 1 is none that Trunkline writes/,
      (it) => it.files.set("events", Buffer.from(`[1,1,"client",{"kind":"prompt"}]\n`)),
    ],
    "leaves out an event": [
      /its event 1 is none/,
      (it) => {
        const [, ...rest] = (it.files.get("events")?.toString() ?? "").split("\n");
        it.files.set("events", Buffer.from(rest.join("\n")));
      },
    ],
    "has an event at no time": [
      /its event 1 is none/,
      (it) => it.files.set("events", Buffer.from(EVENT.replace(",1,", ",1e300,"))),
    ],
    "has an event that is nested as deeply as nothing that was said": [
      /its event 1 is none/,
      (it) => {
        const deep = "[".repeat(10_000) + "]".repeat(10_000);
        it.files.set("events", Buffer.from(EVENT.replace('"update":{', `"update":{"x":${deep},`)));
      },
    ],
    "has used half a step": [/'session\.usage\[0\]\.steps' must/, (it) => used(it, { steps: 0.5 })],
    "has used more than numbers can say": [
      /'session\.usage\[0\]\.tokens' must/,
      (it) => used(it, { tokens: 1e300 }),
    ],
    "used it on no day": [/'session\.usage\[0\]\.day' must/, (it) => used(it, { day: "x" })],
    "has worked in too many folders": [
      /'session\.folders' must/,
      (it) => (it.head.folders = Array.from({ length: 1_001 }, String)),
    ],
    "has a long first line": [
      /its first line has over/,
      (it) => (it.head.title = "x".repeat(17 * 1024 * 1024)),
    ],
    "works in a folder to which a link leads": [
      /its folder 'link\/x' is a file or a link/,
      (it) => Object.assign(it.head.work as object, { inside: "link/x" }),
    ],
    "has no objects of git": [/git refuses its work/, (it) => it.files.delete("work.pack")],
    "has damaged objects": [
      /git refuses its work/,
      (it) => {
        const pack = Buffer.from(it.files.get("work.pack") ?? "");
        pack[pack.length >> 1] = (pack[pack.length >> 1] ?? 0) ^ 0xff;
        it.files.set("work.pack", pack);
      },
    ],
    "names commits that it does not have": [
      /git refuses its work/,
      (it) => Object.assign(it.head.work as object, { tree: "1".repeat(40) }),
    ],
    "names something else than a commit": [
      /'session\.work\.tree' must/,
      (it) => Object.assign(it.head.work as object, { tree: "--upload-pack=x" }),
    ],
    "names a branch that is none": [
      /git refuses its work/,
      (it) => Object.assign(it.head.work as object, { branch: "../../x" }),
    ],
    "has an agent that is not here": [
      /its agent 'evil' is not configured/,
      (it) => (it.head.agent = "evil"),
    ],
  };

  it("is refused in words, and leaves nothing", async () => {
    await using at = await exported();
    await using other = await SampleCommandLine.create();
    for (const [what, [says, change]] of Object.entries(cases)) {
      const forged = new Forged(at.file);
      change(forged);
      const { code, err } = await other.run("session", "import", await forged.write());
      assert.equal(code, 1, what);
      assert.match(err, says, what);
    }
    for (const folder of ["worktrees", "moves"].map((name) => join(other.home.data, name)))
      assert.deepEqual(existsSync(folder) ? readdirSync(folder) : [], []);
    const { sessions } = await other.json<{ sessions: object[] }>("session", "list");
    assert.deepEqual(sessions, []);
  });

  it("is refused if a byte of it has changed, it is cut or longer, or it is a pipe", async () => {
    await using at = await exported();
    const all = readFileSync(at.file);
    const changed = Buffer.from(all);
    changed[all.length - 1] = (all.at(-1) ?? 0) ^ 1;
    for (const [content, says] of [
      [changed, /has another digest/],
      [all.subarray(0, -1), /has another digest/],
      [Buffer.concat([all, Buffer.from("x")]), /its length is not what it says/],
      [Buffer.from("hello"), /in its first line/],
    ] as const) {
      await writeFile(at.file, content);
      const { code, err } = await at.rig.server.run("session", "import", at.file);
      assert.equal(code, 1);
      assert.match(err, says);
    }
    await rm(at.file);
    execFileSync("mkfifo", [at.file]);
    assert.equal((await at.rig.server.run("session", "import", at.file)).code, 1);
  });

  it("puts no file where git is configured, whatever its tree says", async () => {
    await using at = await exported();
    const folder = join(at.rig.laptop.home.path, "evil.git");
    execFileSync("mkdir", [folder]);
    const person = "A <a@example.org> 0 +0000";
    const script = [
      `commit refs/heads/a\ncommitter ${person}\ndata 1\na`,
      "M 100755 inline .git/hooks/post-checkout\ndata 1\nx",
      "M 100644 inline .GIT/config\ndata 1\nx\n",
    ].join("\n");
    const made = (() => {
      try {
        return packOf(folder, script);
      } catch {
        // Some versions of git do not even write such a tree.
        return Buffer.from("PACK");
      }
    })();
    const forged = new Forged(at.file);
    forged.files.set("work.pack", made);
    const { code, err } = await at.rig.server.run("session", "import", await forged.write());
    assert.equal(code, 1);
    assert.match(err, /git refuses its work/);
  });

  it("writes no undone file outside of its folder", async () => {
    await using at = await exported();
    const forged = new Forged(at.file);
    const lines = [
      { path: "/etc/evil", blob: "0.before" },
      { path: join(at.rig.top, "a.txt"), blob: "../../../../../../etc/passwd" },
    ];
    forged.files.set(
      "undo/00000001/turn.jsonl",
      Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join("")),
    );
    const { server } = at.rig;
    const { session } = await server.json<{ session: string }>(
      ...["session", "import", await forged.write()],
    );
    const { Journal } = await import("../../../agent/files/journal.ts");
    const { changes = [] } = (await new Journal(server.home.data, session).last()) ?? {};
    for (const { before } of changes) assert.doesNotMatch(String(before), /root:/);
  });

  it("does not follow a link that is where its work goes", async () => {
    await using at = await exported();
    const { server } = at.rig;
    await symlink(at.rig.laptop.home.path, join(server.home.project, "link"));
    const forged = new Forged(at.file);
    Object.assign(forged.head, { folders: ["/x/../../link"] });
    const { folder } = await server.json<{ folder: string }>(
      ...["session", "import", await forged.write()],
    );
    assert.match(folder, /worktrees\/[0-9a-f-]+\/work-link$/);
  });
});

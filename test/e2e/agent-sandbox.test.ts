import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";

import { defaultConfig } from "../../src/config/config.ts";
import { localSandboxStatus } from "../../src/sandbox/open/local-sandbox-status.ts";
import { AgentEditor } from "../agent/agent-editor.ts";
import { FakeLlm, type Scripted } from "../agent/fake-llm.ts";
import type { Json } from "../support/acp-app.ts";
import { NODE_IS_HIDDEN } from "../support/node-in-sandbox.ts";

const { state, says, next } = await localSandboxStatus(defaultConfig(tmpdir()));
const skip = state !== "ok" && `${says}. ${next}`;

const run = (command: string, more: object = {}): Scripted => ({
  toolCalls: [{ name: "run_command", arguments: { command, ...more } }],
});

interface RunOptions {
  /** The workspace; a new one by default. */
  readonly cwd?: string;
  /** How the person answers questions. */
  readonly decide?: AgentEditor["decide"];
}

/** The program, in which commands run one after the other in new sessions. */
class Rig implements AsyncDisposable {
  readonly editor: AgentEditor;
  readonly #llm: FakeLlm;

  private constructor(editor: AgentEditor, llm: FakeLlm) {
    this.editor = editor;
    this.#llm = llm;
  }

  static async open(sandbox?: string): Promise<Rig> {
    const llm = await FakeLlm.start([]);
    const files = { show: [process.execPath] };
    const config = { agent: { files, ...(sandbox === undefined ? {} : { sandbox }) } };
    const secrets = { XDG_CACHE_HOME: "", MY_LOGIN: "word", NPM_TOKEN: "word" };
    const env = sandbox === undefined ? secrets : { ...secrets, TRUNKLINE_AGENT_SANDBOX: sandbox };
    const editor = new AgentEditor({ llm, config, env });
    await editor.hello();
    return new Rig(editor, llm);
  }

  get home(): string {
    return this.editor.program.home;
  }

  inHome(name: string, text: string): string {
    const file = join(this.home, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  /** Runs commands in a new session. Returns what the model was told. */
  async outputs(
    commands: readonly Scripted[],
    { cwd, decide = () => "allow_once" }: RunOptions = {},
  ): Promise<string[]> {
    this.#llm.play([...commands, { content: "Done." }]);
    const sessionId = await this.editor.another({}, cwd === undefined ? {} : { cwd });
    this.editor.decide = decide;
    await this.editor.say(sessionId, "Go");
    return commands.map((_, index) => {
      const before = this.#llm.seen(index);
      return this.#llm.seen(index + 1).slice(before.length);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.editor[Symbol.asyncDispose]();
    await this.#llm[Symbol.asyncDispose]();
  }
}

/** Counts processes that have the model's key in their environment, without printing the key. */
const FIND_KEYS = "grep -lz '^OPENAI_API_KEY=sk-' /proc/[0-9]*/environ 2>/dev/null | wc -l";
const MARK = `4${process.pid}`;
const LASTING = `6${process.pid}`;

/** All in one session, because each start of the program takes as long as twenty commands. */
const COMMANDS = {
  keys: FIND_KEYS,
  processes: "ls /proc | grep -c '^[0-9]'",
  child: `env -i setsid sh -c 'sleep ${MARK} & sleep ${MARK}' >/dev/null 2>&1 & sleep 0.3; echo ok`,
  changes:
    "echo x > in.txt && echo y > /tmp/kept && mkdir -p ~/.cache/a && echo z > ~/.cache/z && echo fine",
  kept: "cat /tmp/kept ~/.cache/z; touch ../x",
  outside: "touch /etc/x /usr/x /media/x /x ~/.local/bin/x; echo x >> ~/.bashrc; touch ~/x; exit 1",
  ownCache: "ls ~/.cache/trunkline; mkdir -p ~/.cache/trunkline && echo x > ~/.cache/trunkline/x",
  secrets:
    "cat ~/.ssh/id ~/.netrc ~/.npmrc ~/.config/gh/hosts.yml ~/.config/trunkline/config.jsonc",
  variables: "env | grep -c word",
  settings: "git config pull.rebase; git config --list | grep -c credential; ls ~/.local/bin",
  unseen: "cat ~/.npmrc",
  // The objects of the repository are below /run/trunkline.
  ours: "ls -A ../data /run | grep -v -e : -e trunkline | wc -w",
  commit: "echo more >> a.txt && git commit -qam Second && git log --format=%s",
  hook: "echo x > .git/hooks/pre-commit",
  config: "git config core.fsmonitor ./x",
  moved: "mv .git .other",
  lasting: `touch ~/lasting; echo begun; echo > /tmp/lasting; exec sleep ${LASTING}`,
  afterwards: "until [ -e /tmp/lasting ]; do sleep 0.01; done; ls /proc | grep -c '^[0-9]'",
  readOnlyTmp: "mkdir -p /tmp/a/b && chmod 500 /tmp/a && echo fine",
};

describe("commands of the built-in agent in the sandbox", { skip, timeout: 600_000 }, () => {
  const outputs = new Map<string, string>();
  const said = (name: keyof typeof COMMANDS): string => outputs.get(name) ?? "";
  const left: Record<string, unknown> = {};

  before(async () => {
    const script = Object.entries(COMMANDS).map(([name, command]) => {
      return run(command, name === "lasting" ? { background: true } : {});
    });
    await using rig = await Rig.open();
    const { editor, home } = rig;
    const secret = "word";
    rig.inHome(".ssh/id", secret);
    rig.inHome(".netrc", secret);
    rig.inHome(".npmrc", `//registry.example/:_authToken=${secret}`);
    rig.inHome(".config/gh/hosts.yml", secret);
    rig.inHome(".config/trunkline/config.jsonc", "{ /* word */ }");
    rig.inHome(".gitconfig", "[pull]\n\trebase = interactive\n[credential]\n\thelper = store\n");
    rig.inHome(".local/bin/tool", "");
    rig.inHome(".bashrc", "mine\n");
    rig.inHome(".cache/trunkline/compile/x", "ours\n");
    editor.write("a.txt", "a\n");
    editor.commitAll();
    const names = Object.keys(COMMANDS);
    const { cwd } = editor;
    for (const [index, output] of (await rig.outputs(script, { cwd })).entries()) {
      outputs.set(names[index] ?? "", output);
    }
    left.children = running(`sleep\0${MARK}`);
    left.lasting = running(`sleep\0${LASTING}`);
    editor.cwd = cwd;
    left.log = editor.git("log", "--format=%s");
    left.settings = editor.git("config", "--list");
    left.files = readdirSync(cwd).toSorted();
    left.outside = ["/etc/x", "/usr/x", "/tmp/kept", join(home, "x"), join(editor.folder, "x")]
      .concat(
        join(home, "lasting"),
        join(home, ".cache/trunkline/x"),
        join(cwd, ".git/hooks/pre-commit"),
      )
      .filter((path) => existsSync(path));
    left.bashrc = readFileSync(join(home, ".bashrc"), "utf8");
    left.cached = existsSync(join(home, ".cache/z"));
    left.folders = readdirSync(join(editor.data, "sandbox")).length;
    const [name = ""] = readdirSync(join(editor.data, "sandbox/homes"));
    left.kept = readFileSync(join(editor.data, "sandbox/homes", name, "home/.cache/z"), "utf8");
    editor.program.child.stdin.end();
    await editor.program.exit;
    left.lastingAfterwards = running(`sleep\0${LASTING}`);
    left.foldersAfterwards = readdirSync(join(editor.data, "sandbox")).toSorted();
  });

  it("find no model key in /proc, which they do without a sandbox", async () => {
    assert.match(said("keys"), /^tool: 0$/m);
    assert.ok(Number(/tool: (\d+)/.exec(said("processes"))?.[1]) < 8, said("processes"));
    await using without = await Rig.open("off");
    assert.match((await without.outputs([run(FIND_KEYS)]))[0] ?? "", /^tool: [1-9]/m);
  });

  it("leave no child process behind", () => {
    assert.match(said("child"), /tool: ok/);
    assert.deepEqual(left.children, []);
  });

  it("can go on in the background, in the same sandbox, until the session ends", () => {
    assert.match(said("lasting"), /It runs in the background as '1'/);
    // A command sees neither the other one nor its processes.
    assert.match(said("afterwards"), /\b[1-9]\s+\(exit code 0\)/);
    assert.notDeepEqual(left.lasting, []);
    assert.deepEqual(left.lastingAfterwards, []);
  });

  it("can change the project, caches of its own, and a /tmp that lasts as long as the session", () => {
    assert.match(said("changes"), /tool: fine/);
    assert.match(said("kept"), /tool: y\nz\n/);
    assert.deepEqual(left.files, [".git", "a.txt", "in.txt"]);
    assert.equal(left.cached, false, "not those of the person");
    assert.equal(left.kept, "z\n");
  });

  it("cannot change anything else, and are told why", () => {
    assert.equal(said("outside").match(/Read-only file system/g)?.length, 4, said("outside"));
    assert.match(said("outside"), /It ran in a sandbox: .* set outside_sandbox/);
    assert.deepEqual(left.outside, []);
    assert.equal(left.bashrc, "mine\n");
  });

  it("cannot plant code that our own program would run at its next start", () => {
    assert.match(said("ownCache"), /No such file or directory/);
  });

  it("see no secrets of the person, and no data of Trunkline", () => {
    assert.doesNotMatch(said("secrets"), /word/);
    assert.match(said("variables"), /tool: 0\n/);
    assert.match(
      said("settings"),
      /tool: interactive\n0\ntool\n/,
      "but harmless settings and programs",
    );
    assert.match(said("unseen"), /\.npmrc' is not shown .*`agent\.files\.show`/);
    assert.match(said("ours"), /^0$/m);
  });

  it("can commit, but cannot change a hook or setting of the repository", () => {
    assert.match(said("commit"), /tool: Second\nstart/);
    assert.match(said("hook"), /Read-only file system/);
    assert.match(said("config"), /Git: settings are not for commands to change.*core\.fsmonitor/);
    assert.match(said("moved"), /busy/);
    assert.equal(left.log, "Second\nstart\n");
    assert.doesNotMatch(String(left.settings), /fsmonitor/);
  });

  it("leave nothing of the sandbox after the session", () => {
    assert.match(said("readOnlyTmp"), /fine/);
    assert.equal(left.folders, 3);
    assert.deepEqual(left.foldersAfterwards, ["homes", "works"], "caches are kept");
  });
});

describe("a person", { skip, timeout: 600_000 }, () => {
  let rig: Rig;
  before(async () => {
    rig = await Rig.open();
  });
  after(() => rig[Symbol.asyncDispose]());

  it(
    "is asked about hosts, and commands cannot reach servers of this machine",
    { skip: NODE_IS_HIDDEN },
    async () => {
      const server = createServer((socket) => socket.end("reached")).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const connect = `${process.execPath} -e 'net.connect(${port}, "127.0.0.1").on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))'`;
      const get = `${process.execPath} -e 'fetch("http://registry.invalid/").then((it) => it.text()).then(console.log)'`;
      const answers: Record<string, string> = { "Connect to registry.invalid": "reject_once" };
      const decide = ({ toolCall }: Json): string => answers[toolCall.title] ?? "allow_once";
      const commands = [run(connect), run(get), run(`${get}; exit 3`)];
      const [own = "", refused = ""] = await rig.outputs(commands, { decide });
      server.close();
      assert.match(own, /ECONNREFUSED/);
      assert.match(refused, /Trunkline refuses this connection: 'registry\.invalid' is not among/);
      assert.match(refused, /The sandbox refused a connection: .*`agent\.egress\.allowHosts`/);
      assert.equal(rig.editor.asked.length, 5, "each command, and the host in both that wanted it");
      const { options } = rig.editor.asked[2]?.params ?? {};
      const [, always] = options;
      assert.match(always.name, /connections of commands to registry\.invalid$/);
    },
  );

  it(
    "is asked once about a host if the answer is for always",
    { skip: NODE_IS_HIDDEN },
    async () => {
      const get = `${process.execPath} -e 'fetch("http://registry.invalid/").then((it) => it.text()).then(console.log)'`;
      const decide = (): string => "allow_always";
      const [first = "", second = ""] = await rig.outputs([run(get), run(`${get} `)], { decide });
      assert.match(first, /Trunkline cannot make this connection/, "it was tried");
      assert.match(second, /Trunkline cannot make this connection/);
      const titles = rig.editor.asked.map(({ params }) => params.toolCall.title);
      assert.deepEqual(titles, [get, "Connect to registry.invalid", `${get} `]);
    },
  );

  it("is asked whether a command may run outside of the sandbox", async () => {
    const command = "echo $TRUNKLINE_SERVICES; touch ~/outside";
    const commands = [
      run(command),
      run(command, { outside_sandbox: true }),
      run(command, { outside_sandbox: true }),
    ];
    const outside = `Outside of the sandbox: ${command}`;
    let count = 0;
    const decide = ({ toolCall }: Json): string => {
      if (toolCall.title !== outside) return "allow_always";
      return ++count === 1 ? "reject_once" : "allow_once";
    };
    const [within = "", refused = "", ran = ""] = await rig.outputs(commands, { decide });
    assert.match(within, /exit code 0/);
    assert.match(refused, /did not allow it/);
    assert.match(ran, /exit code 0/);
    assert.equal(count, 2, "always was said of the command in the sandbox alone");
    assert.ok(existsSync(join(rig.home, "outside")));
  });

  it("gets an error instead of a command without a sandbox if `agent.sandbox` is `on`", async () => {
    await using strict = await Rig.open("on");
    const commands = [run("echo ran"), run("echo ran", { outside_sandbox: true })];
    const [within = "", outside = ""] = await strict.outputs(commands, { cwd: "/" });
    assert.match(
      within,
      /There is no sandbox for commands: the session works in '\/'.*trunkline doctor/,
    );
    assert.match(outside, /`agent.sandbox` is `on`/);
  });

  it("gets an error, too, if only this folder is in the way of a sandbox", async () => {
    const [refused = ""] = await rig.outputs([run("echo ran")], { cwd: "/" });
    assert.match(refused, /There is no sandbox for commands: .*`agent.sandbox` to `off`/);
    assert.doesNotMatch(refused, /tool: ran/);
  });
});

function running(words: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(words);
    } catch {
      return false;
    }
  });
}

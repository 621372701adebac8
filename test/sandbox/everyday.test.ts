import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { defaultConfig } from "../../src/config/config.ts";
import { localSandboxStatus } from "../../src/sandbox/open/local-sandbox-status.ts";
import { NODE_IS_HIDDEN } from "../support/node-in-sandbox.ts";
import { type Inside, localSession, remoteRun } from "./inside.ts";

const { state, says, next } = await localSandboxStatus(defaultConfig(tmpdir()));
const skip = (state !== "ok" && `${says}. ${next}`) || NODE_IS_HIDDEN;

/** The program, what it is given to do, and what it has to say. */
const WORK: readonly (readonly [string, string, RegExp])[] = [
  [
    "node",
    "node -e 'fs.mkdtempSync(os.tmpdir() + \"/x-\"); console.log(os.homedir())'",
    /^\/.+\n$/,
  ],
  [
    "npm",
    `mkdir -p app/dep && cd app && echo '{"name":"dep","version":"1.0.0"}' > dep/package.json &&
     echo '{"name":"app","dependencies":{"dep":"file:./dep"},"scripts":{"test":"echo tested"}}' > package.json &&
     npm install --offline --no-audit --no-fund 2>&1 && npm test && ls node_modules`,
    /tested[^]*dep/,
  ],
  [
    "python3",
    "python3 -m venv --without-pip env && env/bin/python -c 'import ssl, tempfile; print(tempfile.mkdtemp())'",
    /^\/tmp\//m,
  ],
  ["gcc", "echo 'int main(){return 7;}' > a.c && gcc a.c -o a.out && ./a.out; echo $?", /^7$/m],
  ["cargo", "cargo init --quiet --name x x && cd x && cargo run --quiet --offline", /Hello, world/],
  [
    "go",
    "mkdir g && cd g && go mod init x 2>&1 && echo 'package main; func main(){println(1)}' > m.go && go run . 2>&1",
    /^1$/m,
  ],
  [
    "git",
    "git init -q r && cd r && git config user.name A && git config user.email a@b && touch f && git add f && git commit -qm One && git log --format=%s",
    /^One$/m,
  ],
  ["perl", "perl -MFile::Temp -e 'print File::Temp->new->filename'", /^\/tmp\//],
  ["bash", "bash -lc 'echo $HOME; type ls'; ps > /dev/null 2>&1; id -un", /ls is/],
  [
    "sh",
    "dd if=/dev/zero of=/dev/shm/x bs=1024 count=64 2>/dev/null && wc -c < /dev/shm/x",
    /^65536/,
  ],
  ["sh", "mkdir -p ~/.cache/tool && echo kept > ~/.cache/tool/x; cat ~/.cache/tool/x", /^kept/],
  ["make", "printf 'all:\\n\\t@echo made\\n' > Makefile && make", /^made/m],
];

function isHere(program: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${program} && ${program} --version`]).status === 0;
}

const programs = new Set(WORK.map(([program]) => program));
const missing = new Set(
  [...programs.difference(new Set(["sh", "bash"]))].filter((it) => !isHere(it)),
);

for (const [where, open] of [
  ["a local session", localSession],
  ["a remote run", remoteRun],
] as const) {
  describe(`everyday work in ${where}`, { skip, timeout: 300_000 }, () => {
    let inside: Inside;

    before(async () => {
      inside = await open({ RUSTUP_HOME: join(homedir(), ".rustup") });
    });

    after(() => inside[Symbol.asyncDispose]());

    for (const [program, line, expected] of WORK) {
      const title = `goes on with ${program}: ${line.slice(0, 30)}`;
      it(title, { skip: missing.has(program) && `Install ${program}.` }, async (test) => {
        // A server's home folder is not shown, with the programs in it.
        if (where === "a remote run" && (await inside.sh(`command -v ${program}`)) === "") {
          return test.skip(`Install ${program} for all users.`);
        }
        assert.match(await inside.sh(line), expected);
        return undefined;
      });
    }

    it("keeps its home between commands, and shows it to no other project", async () => {
      await inside.sh("echo mine > ~/mine");
      assert.equal(await inside.sh("cat ~/mine"), "mine\n");
      await using other = await open({});
      assert.match(await other.sh("cat ~/mine"), /No such file/);
    });
  });
}

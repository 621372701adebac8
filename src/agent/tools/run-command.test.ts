import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { call } from "../../../test/agent/call-tools.ts";
import { ALLOW, REJECT } from "../../../test/agent/sample-turn.ts";
import { until } from "../../../test/support/until.ts";
import type { HostConsent, CommandSandbox } from "../files/command-sandbox.ts";

describe("run_command", () => {
  it("keeps the beginning and the end of endless output", async () => {
    const command = "echo first; yes filler | head -c 5000000; echo last; exit 4";
    const { answers } = await call([{ name: "run_command", arguments: { command } }]);
    assert.match(answers[0] ?? "", /^first\n/);
    assert.match(answers[0] ?? "", /characters left out/);
    assert.match(answers[0] ?? "", /last\n\(exit code 4\)$/);
    assert.ok((answers[0]?.length ?? Infinity) < 40_000);
  });

  it("gives a command empty input, and leaves no process running", async () => {
    const command = "cat; nohup sleep 91 >/dev/null 2>&1 & echo done";
    const { answers } = await call([{ name: "run_command", arguments: { command } }]);
    assert.match(answers[0] ?? "", /done\n\(exit code 0\)/);
  });

  it("asks with the whole command, and 'always' covers only that command", async () => {
    const command = "rm -rf build";
    const { turn } = await call([{ name: "run_command", arguments: { command } }]);
    assert.equal(turn.asked[0]?.toolCall.title, command);
    assert.deepEqual(turn.asked[0]?.subject, {
      action: "run",
      command,
      folder: ".",
      sandbox: "none",
    });
  });
});

describe("run_command in a sandbox", () => {
  /** Stands for a real one: says that it was there, and asks about a host once the command has told that it runs. */
  function sandbox(host?: string): () => CommandSandbox {
    const confine = (ask: HostConsent): ((program: object) => never) => {
      return (program) => {
        const { env, cwd } = program as { env: object; cwd: string };
        if (host !== undefined) {
          const running = until(() => existsSync(join(cwd, "running")));
          running.then(() => ask(host)).catch(() => {});
        }
        return { ...program, env: { ...env, WHERE: "inside" } } as never;
      };
    };
    return () => ({
      mayBeLeft: true,
      isThere: async () => true,
      enter: async (ask) => ({
        confine: confine(ask ?? (async () => false)),
        refused: new Map(),
        isShown: (path) => !path.startsWith("/home/ada/."),
        notes: [],
        limits: [],
        [Symbol.asyncDispose]: async () => {},
      }),
      [Symbol.asyncDispose]: async () => {},
    });
  }

  const terminal = {
    create: () => assert.fail("the editor's terminal is outside of the sandbox"),
  };

  it("runs there, though the editor has terminals", async () => {
    const { answers } = await call(
      [{ name: "run_command", arguments: { command: "echo $WHERE" } }],
      { sandbox: sandbox(), turn: { client: { terminal } } },
    );
    assert.equal(answers[0], "inside\n(exit code 0)");
  });

  it("tells what the sandbox may have to do with a failure, and only then", async () => {
    const { answers } = await call(
      ["echo 'x: Read-only file system'; exit 1", "echo 'x: Read-only file system'", "exit 1"].map(
        (command) => ({ name: "run_command", arguments: { command } }),
      ),
      { sandbox: sandbox() },
    );
    assert.match(answers[0] ?? "", /It ran in a sandbox.*set outside_sandbox/);
    assert.doesNotMatch(`${answers[1]}${answers[2]}`, /sandbox/);
  });

  it("names the setting if a file is missing that is not shown there", async () => {
    const lines = [
      'echo "cat: /home/ada/.npmrc: No such file or directory"; exit 1',
      "echo \"cat: can't open '/home/ada/.npmrc': No such file or directory\"; exit 1",
      "echo \"Error: ENOENT: no such file or directory, open '/home/ada/.npmrc'\"; exit 1",
      "echo \"[Errno 2] No such file or directory: '/home/ada/.npmrc'\"; exit 1",
      'echo "cat: /home/ada/project/x: No such file or directory"; exit 1',
    ];
    const { answers } = await call(
      lines.map((command) => ({ name: "run_command", arguments: { command } })),
      { sandbox: sandbox() },
    );
    const note = /'\/home\/ada\/\.npmrc' is not shown in the sandbox.*`agent\.files\.show`/;
    for (const answer of answers.slice(0, -1)) assert.match(answer, note);
    assert.doesNotMatch(answers.at(-1) ?? "", /not shown/);
  });

  it("says in the question that there is none, whatever was allowed in one", async () => {
    const none = (): CommandSandbox => ({
      mayBeLeft: true,
      isThere: async () => false,
      enter: () => assert.fail("there is none"),
      [Symbol.asyncDispose]: async () => {},
    });
    const calls = [{ name: "run_command", arguments: { command: "echo ran" } }];
    const without = await call(calls, { sandbox: none });
    assert.equal(without.answers[0], "ran\n(exit code 0)");
    const [asked] = without.turn.asked;
    assert.equal(asked?.toolCall.title, "Without a sandbox: echo ran");
    assert.match(JSON.stringify(asked?.toolCall.content), /can read and change all that you can/);
    assert.deepEqual(asked?._meta, { trunkline: { needsPerson: true } });
    const { turn } = await call(calls, { sandbox: sandbox() });
    assert.notDeepEqual(turn.asked[0]?.subject, asked?.subject);
    // Nor is it left because somebody has said yes to everything: what it reads may have asked for it.
    const wished = { command: "echo ran", outside_sandbox: true };
    const left = await call([{ name: "run_command", arguments: wished }], { sandbox: sandbox() });
    assert.deepEqual(left.turn.asked[0]?._meta, { trunkline: { needsPerson: true } });
  });

  it("has the time of a command stand still while a person is asked about a host", async () => {
    const command = "> running; until [ -e answered ]; do sleep 0.02; done; echo finished";
    let folder = "";
    const ended = Promise.withResolvers<void>();
    const { answers, turn } = await call(
      [{ name: "run_command", arguments: { command, timeout_ms: 1_500 } }],
      {
        sandbox: sandbox("x.example"),
        prepare: (rig) => (folder = rig.cwd),
        turn: {
          decide: async ({ toolCall }) => {
            if (toolCall.title !== "Connect to x.example") return ALLOW;
            await sleep(2_000);
            writeFileSync(join(folder, "answered"), "");
            // The command may end before its answer comes.
            await ended.promise;
            return REJECT;
          },
        },
      },
    );
    ended.resolve();
    assert.match(answers[0] ?? "", /^finished\n/);
    assert.deepEqual(turn.asked[1]?.subject, { action: "connect", host: "x.example" });
  });
});

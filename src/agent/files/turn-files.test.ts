import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../../base/errors.ts";
import { ACP } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { SessionError } from "../../session/session-error.ts";
import { call, read } from "../../../test/agent/call-tools.ts";

describe("files in an editor", () => {
  const failing = (error: Error) => {
    const readTextFile = async (): Promise<never> => {
      throw error;
    };
    return { client: { fs: { readTextFile } } };
  };
  const edit = {
    name: "edit_file",
    arguments: { path: "a", old_string: "on disk", new_string: "x" },
  };
  const create = { name: "write_file", arguments: { path: "new", content: "x" } };

  it("are not read from disk if the editor fails, because its unsaved text may differ", async () => {
    const timeout = new TrunklineError("timeout", "it took too long");
    await call([read("a"), edit, create], {
      files: { a: "on disk\n" },
      turn: failing(timeout),
      check: (rig, { turn, answers }) => {
        assert.deepEqual(turn.ends, ["failed", "failed", "completed"]);
        assert.match(answers[0] ?? "", /Cannot read 'a': the editor.*took too long.*not be saved/);
        assert.equal(rig.read("a"), "on disk\n");
        assert.equal(rig.read("new"), "x", "there is nothing to miss in a file that is not there");
      },
    });
  });

  it("are not asked for if they do not exist", async () => {
    const asked: string[] = [];
    const fs = {
      readTextFile: async (path: string) => {
        asked.push(path.slice(-3));
        return "in the editor\n";
      },
      writeTextFile: async () => {},
    };
    const { answers } = await call([read("new"), create, read("old")], {
      files: { old: "on disk\n" },
      turn: { client: { fs } },
    });
    assert.match(answers[0] ?? "", /there is no file 'new'/);
    assert.match(answers[2] ?? "", /in the editor/);
    assert.deepEqual(asked, ["old"]);
  });

  for (const error of [
    RpcError.of(ACP.resourceNotFound),
    new SessionError("file-not-found", "there is no such file"),
  ]) {
    it(`are read from disk if the editor has no such file (${error.message})`, async () => {
      const { answers } = await call([read("a")], {
        files: { a: "on disk\n" },
        turn: failing(error),
      });
      assert.match(answers[0] ?? "", /on disk/);
    });
  }
});

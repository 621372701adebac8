import { tmpdir } from "node:os";

import { defaultConfig } from "../../src/config/config.ts";
import { localSandboxStatus } from "../../src/sandbox/open/local-sandbox-status.ts";
import { NODE_IS_HIDDEN } from "../support/node-in-sandbox.ts";
import { attackSuite } from "./attack-suite.ts";
import { localSession, remoteRun } from "./inside.ts";

const { state, says, next } = await localSandboxStatus(defaultConfig(tmpdir()));
const skip = (state !== "ok" && `${says}. ${next}`) || NODE_IS_HIDDEN;

attackSuite("a command of a local session", localSession, skip);
attackSuite("the agent of a remote run", remoteRun, skip);

// The thread that parses one message; see parse-apart.ts.
import { parentPort, workerData } from "node:worker_threads";

import { RpcError } from "../rpc-error.ts";
import type { ParsedPart, ParseJob } from "./parse-apart.ts";
import { parseMessage } from "./message.ts";
import { piecesOf } from "./pieces.ts";

const { text, maxDepth } = workerData as ParseJob;
const value = parseMessage(text, { maxDepth, maxWork: Infinity });
const pieces = value instanceof RpcError ? undefined : piecesOf(value);

const next = (): ParsedPart => {
  if (pieces === undefined) {
    const { code, message, data } = value as RpcError;
    return { refusal: { code, message, data } };
  }
  const { value: piece, done } = pieces.next();
  return done === true ? { isWhole: true } : { piece };
};

const tell = (): void => parentPort?.postMessage(next(), []);

// One piece at a time, so that the other thread can do its own work in between.
parentPort?.on("message", tell);
tell();

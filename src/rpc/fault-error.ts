import type { FrameFault } from "../wire/channel.ts";
import { STANDARD, TRUNKLINE } from "./codes.ts";
import { RpcError } from "./rpc-error.ts";

/** What a message that was not read whole is answered with. */
export function faultError({ kind, size, limit }: FrameFault): RpcError {
  if (kind === "encoding") return RpcError.of(STANDARD.parse, "message is not valid UTF-8");
  if (kind === "busy") return RpcError.of(TRUNKLINE.busy, "too much is buffered: try again later");
  const tooLarge = `message of ${size} bytes is over the limit of ${limit}`;
  return RpcError.of(STANDARD.invalidRequest, tooLarge, { size, limit });
}

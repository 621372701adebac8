import type { Trouble } from "../settings.ts";
import { addressOf, native, pinnedBuffer } from "./native.ts";

/** Something the engine was asked for and cannot do. */
export class EngineError extends Error {
  readonly trouble: Trouble;

  constructor(trouble: Trouble, message: string) {
    super(message);
    this.trouble = trouble;
  }
}

const text = pinnedBuffer(256);
const textAddress = addressOf(text);

/** The first thing OpenSSL has complained about, and makes it forget the others. */
export function takeErrors(): string {
  const code = native.ERR_get_error();
  native.ERR_clear_error();
  if (code === 0n) return "OpenSSL does not say why";
  native.ERR_error_string_n(code, textAddress, BigInt(text.length));
  // error:80000062:system library::Address already in use
  return text.toString("latin1", 0, text.indexOf(0)).split(":").at(-1) ?? "";
}

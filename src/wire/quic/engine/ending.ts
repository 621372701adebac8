import { toBuffer, toString } from "node:ffi";
import type { Ending, Trouble } from "../settings.ts";
import {
  addressOf,
  fixedBuffer,
  fixedText,
  lend,
  NULL,
  pinnedBuffer,
  type Pointer,
} from "../../../base/process/ffi.ts";
import { native } from "./native.ts";

const INFO = pinnedBuffer(40);
const INFO_ADDRESS = addressOf(INFO);
const LOCAL = 1;
const TRANSPORT = 2;
const IDLE = 0xffff_ffff_ffff_ffffn;
/** RFC 9001 § 4.8: an error of TLS is this plus the number of its alert. */
const CRYPTO_ERROR = 0x100;
const LONGEST_REASON = 1024;

/** By the numbers of RFC 8446 § 6. */
const ALERTS: Readonly<Record<number, readonly [Trouble, string]>> = {
  40: ["bad-certificate", "the handshake failed"],
  42: ["bad-certificate", "the certificate was refused"],
  43: ["bad-certificate", "the kind of certificate is not supported"],
  44: ["bad-certificate", "the certificate is revoked"],
  45: ["expired", "the certificate is expired, or not valid yet"],
  46: ["bad-certificate", "the certificate was refused"],
  48: ["wrong-ca", "the certificate was not made by a CA that is trusted there"],
  51: ["bad-certificate", "the certificate's key did not sign"],
  112: ["wrong-name", "the name is not known there"],
  116: ["no-certificate", "a certificate is required, and none was shown"],
  120: ["wrong-alpn", "no protocol in common"],
};

/** What OpenSSL found wrong with a certificate: X509_V_ERR_… */
const VERDICTS: Readonly<Record<number, Trouble>> = {
  2: "wrong-ca",
  7: "wrong-ca",
  9: "expired",
  10: "expired",
  18: "wrong-ca",
  19: "wrong-ca",
  20: "wrong-ca",
  21: "wrong-ca",
  62: "wrong-name",
  64: "wrong-name",
};

/** Why a connection is over (RFC 9000 § 10): undefined while it is not. */
export function endingOf(ssl: Pointer, isEstablished: boolean): Ending | undefined {
  if (native.SSL_get_conn_close_info(ssl, INFO_ADDRESS, BigInt(INFO.length)) !== 1) {
    return undefined;
  }
  const code = INFO.readBigUInt64LE(0);
  const flags = INFO.readUInt32LE(32);
  const byPeer = (flags & LOCAL) === 0;
  const reason = text(INFO.readBigUInt64LE(16), Number(INFO.readBigUInt64LE(24)));
  if ((flags & TRANSPORT) === 0) {
    return { trouble: "closed", detail: reason, code: Number(code), byPeer };
  }
  if (code === IDLE) return { trouble: "idle", detail: "nothing was heard for the idle timeout" };
  const alert = Number(code) - CRYPTO_ERROR;
  if (alert >= 0 && alert < 256) return ofHandshake(ssl, alert, byPeer, reason);
  if (!byPeer && reason.includes("network")) {
    return isEstablished
      ? { trouble: "network", detail: "the peer's port is closed, or the network failed" }
      : { trouble: "refused", detail: "nothing listens there" };
  }
  const detail = `${reason === "" ? "no reason given" : reason} (QUIC error ${code})`;
  return { trouble: code === 0n && byPeer ? "closed" : "protocol", detail, byPeer };
}

function ofHandshake(ssl: Pointer, alert: number, byPeer: boolean, reason: string): Ending {
  if (!byPeer) {
    const verdict = Number(native.SSL_get_verify_result(ssl));
    if (verdict !== 0) {
      const why = toString(native.X509_verify_cert_error_string(BigInt(verdict)));
      return { trouble: VERDICTS[verdict] ?? "bad-certificate", detail: why ?? "", byPeer };
    }
  }
  const [trouble, why] = ALERTS[alert] ?? ["protocol", `TLS alert ${alert}`];
  // Go sends one alert for all that is wrong with a certificate, and says which in words.
  const said = byPeer && reason !== "" ? `${why} (${reason})` : why;
  return { trouble: goTrouble(reason) ?? trouble, detail: said, byPeer };
}

function goTrouble(reason: string): Trouble | undefined {
  if (reason.includes("unknown authority")) return "wrong-ca";
  if (reason.includes("has expired or is not yet valid")) return "expired";
  if (reason.includes("didn't provide a certificate")) return "no-certificate";
  return undefined;
}

function text(at: Pointer, length: number): string {
  if (at === NULL || length === 0) return "";
  return toBuffer(at, Math.min(length, LONGEST_REASON)).toString("utf8");
}

const RAPID = 1n;
const NO_STREAM_FLUSH = 2n;
const NO_BLOCK = 4n;
const SIZE = 16;

/** The code and the reason with which a connection is closed, as OpenSSL wants them. */
export class CloseReason {
  readonly #words: Buffer;

  constructor(code: number, reason: string) {
    const text = fixedText(reason);
    this.#words = fixedBuffer(SIZE + text.length);
    text.copy(this.#words, SIZE);
    this.#words.writeBigUInt64LE(BigInt(code), 0);
    // The reason is kept beside its address.
    this.#words.writeBigUInt64LE(addressOf(this.#words) + BigInt(SIZE), 8);
  }

  /**
   * Closes a connection immediately (RFC 9000 § 10.2), without waiting for the peer. With `flush` it
   * closes once what was sent has arrived, and has to be called again until then.
   */
  say(ssl: Pointer, flush: boolean): void {
    const flags = RAPID | NO_BLOCK | (flush ? 0n : NO_STREAM_FLUSH);
    native.ERR_clear_error();
    lend(this.#words, (address) => native.SSL_shutdown_ex(ssl, flags, address, BigInt(SIZE)));
  }
}

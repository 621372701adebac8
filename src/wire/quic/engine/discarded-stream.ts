import type { NativeConnection } from "./native-connection.ts";
import { addressOf, type Pointer, pinnedBuffer } from "../../../base/process/ffi.ts";
import { native } from "./native.ts";
import { WAIT, type Waiting } from "./poll-set.ts";

const ERROR_WANT_READ = 2;
const bin = pinnedBuffer(64 * 1024);
const binAddress = addressOf(bin);
const binSize = BigInt(bin.length);
const length = pinnedBuffer(8);
const lengthAddress = addressOf(length);

/**
 * A stream that was broken off here while the peer still sends. It is read to its end and thrown
 * away: if it were freed at once, OpenSSL would count what still arrives against the flow control
 * window of the connection (RFC 9000 § 4.1) and never give it back.
 */
export class DiscardedStream implements Waiting {
  readonly ssl: Pointer;
  slot = -1;
  readonly #connection: NativeConnection;

  /** Takes over a native stream. */
  constructor(connection: NativeConnection, ssl: Pointer) {
    this.#connection = connection;
    this.ssl = ssl;
    connection.pollSet.add(this, WAIT.readable | WAIT.readFailed);
  }

  ready(): void {
    while (native.SSL_read_ex(this.ssl, binAddress, binSize, lengthAddress) === 1) {
      this.#connection.took(length.readUInt32LE());
    }
    if (native.SSL_get_error(this.ssl, 0) === ERROR_WANT_READ) return;
    native.ERR_clear_error();
    this.#connection.forgetDiscarded(this);
  }

  free(): void {
    this.#connection.pollSet.remove(this);
    native.SSL_free(this.ssl);
  }
}

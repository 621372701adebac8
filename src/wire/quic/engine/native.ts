import { dlopen } from "node:ffi";
import { attempt } from "../../../base/attempt.ts";
import { addressOf, pinnedBuffer } from "../../../base/process/ffi.ts";
import type { QuicFailure } from "../settings.ts";

const P = "pointer";
const SIZE = "u64";
const INT = "i32";

/** OpenSSL as it is inside the Node binary, and the few calls of the C library a loop needs. */
const DEFINITIONS = {
  OSSL_QUIC_client_method: { arguments: [], return: P },
  OSSL_QUIC_server_method: { arguments: [], return: P },
  SSL_CTX_new: { arguments: [P], return: P },
  SSL_CTX_free: { arguments: [P], return: "void" },
  SSL_CTX_ctrl: { arguments: [P, INT, "i64", P], return: "i64" },
  SSL_CTX_set_num_tickets: { arguments: [P, SIZE], return: INT },
  SSL_CTX_set_verify: { arguments: [P, INT, P], return: "void" },
  SSL_CTX_set_cert_store: { arguments: [P, P], return: "void" },
  SSL_CTX_set_alpn_select_cb: { arguments: [P, P, P], return: "void" },
  SSL_CTX_use_certificate: { arguments: [P, P], return: INT },
  SSL_CTX_use_PrivateKey: { arguments: [P, P], return: INT },
  SSL_CTX_check_private_key: { arguments: [P], return: INT },
  X509_STORE_new: { arguments: [], return: P },
  X509_STORE_add_cert: { arguments: [P, P], return: INT },
  X509_free: { arguments: [P], return: "void" },
  X509_verify_cert_error_string: { arguments: ["i64"], return: P },
  X509_VERIFY_PARAM_set1_host: { arguments: [P, P, SIZE], return: INT },
  X509_VERIFY_PARAM_set1_ip_asc: { arguments: [P, P], return: INT },
  EVP_PKEY_free: { arguments: [P], return: "void" },
  PEM_read_bio_X509: { arguments: [P, P, P, P], return: P },
  PEM_read_bio_PrivateKey: { arguments: [P, P, P, P], return: P },
  i2d_X509: { arguments: [P, P], return: INT },
  BIO_new_mem_buf: { arguments: [P, INT], return: P },
  BIO_free: { arguments: [P], return: INT },
  BIO_new_dgram: { arguments: [INT, INT], return: P },
  BIO_socket: { arguments: [INT, INT, INT, INT], return: INT },
  BIO_socket_nbio: { arguments: [INT, INT], return: INT },
  BIO_bind: { arguments: [INT, P, INT], return: INT },
  BIO_connect: { arguments: [INT, P, INT], return: INT },
  BIO_closesocket: { arguments: [INT], return: INT },
  BIO_ADDR_new: { arguments: [], return: P },
  BIO_ADDR_free: { arguments: [P], return: "void" },
  BIO_ADDR_rawmake: { arguments: [P, INT, P, SIZE, "u16"], return: INT },
  SSL_new: { arguments: [P], return: P },
  SSL_free: { arguments: [P], return: "void" },
  SSL_ctrl: { arguments: [P, INT, "i64", P], return: "i64" },
  SSL_set_bio: { arguments: [P, P, P], return: "void" },
  SSL_get0_param: { arguments: [P], return: P },
  SSL_set_alpn_protos: { arguments: [P, P, "u32"], return: INT },
  SSL_set_blocking_mode: { arguments: [P, INT], return: INT },
  SSL_set_default_stream_mode: { arguments: [P, "u32"], return: INT },
  SSL_set_incoming_stream_policy: { arguments: [P, INT, "u64"], return: INT },
  SSL_get_stream_id: { arguments: [P], return: "u64" },
  SSL_get_value_uint: { arguments: [P, "u32", "u32", P], return: INT },
  SSL_set_value_uint: { arguments: [P, "u32", "u32", "u64"], return: INT },
  SSL_set1_initial_peer_addr: { arguments: [P, P], return: INT },
  SSL_do_handshake: { arguments: [P], return: INT },
  SSL_get_error: { arguments: [P, INT], return: INT },
  SSL_get_verify_result: { arguments: [P], return: "i64" },
  SSL_get1_peer_certificate: { arguments: [P], return: P },
  SSL_get_conn_close_info: { arguments: [P, P, SIZE], return: INT },
  SSL_new_listener: { arguments: [P, "u64"], return: P },
  SSL_listen: { arguments: [P], return: INT },
  SSL_accept_connection: { arguments: [P, "u64"], return: P },
  SSL_accept_stream: { arguments: [P, "u64"], return: P },
  SSL_new_stream: { arguments: [P, "u64"], return: P },
  SSL_handle_events: { arguments: [P], return: INT },
  SSL_get_event_timeout: { arguments: [P, P, P], return: INT },
  SSL_poll: { arguments: [P, SIZE, SIZE, P, "u64", P], return: INT },
  SSL_read_ex: { arguments: [P, P, SIZE, P], return: INT },
  SSL_write_ex2: { arguments: [P, P, SIZE, "u64", P], return: INT },
  SSL_stream_conclude: { arguments: [P, "u64"], return: INT },
  SSL_stream_reset: { arguments: [P, P, SIZE], return: INT },
  SSL_get_stream_read_state: { arguments: [P], return: INT },
  SSL_get_stream_read_error_code: { arguments: [P, P], return: INT },
  SSL_get_stream_write_error_code: { arguments: [P, P], return: INT },
  SSL_shutdown_ex: { arguments: [P, "u64", P, SIZE], return: INT },
  ERR_get_error: { arguments: [], return: "u64" },
  ERR_clear_error: { arguments: [], return: "void" },
  ERR_error_string_n: { arguments: ["u64", P, SIZE], return: "void" },
  poll: { arguments: [P, "u64", INT], return: INT },
  recv: { arguments: [INT, P, SIZE, INT], return: "i64" },
  send: { arguments: [INT, P, SIZE, INT], return: "i64" },
  getsockname: { arguments: [INT, P, P], return: INT },
  setsockopt: { arguments: [INT, INT, INT, P, "u32"], return: INT },
} as const;

/**
 * Not part of OpenSSL's public interface: a Node that hides them still works, but learns later that
 * a peer is gone or has refused a certificate, and keeps streams that are over.
 */
const INTERNALS = {
  ossl_quic_conn_get_channel: { arguments: [P], return: P },
  ossl_quic_channel_ping: { arguments: [P], return: INT },
  ossl_quic_channel_get_diag_num_rx_ack: { arguments: [P], return: "u16" },
  ossl_quic_channel_is_handshake_confirmed: { arguments: [P], return: INT },
  ossl_quic_channel_get_qsm: { arguments: [P], return: P },
  ossl_quic_stream_map_get_by_id: { arguments: [P, "u64"], return: P },
  ossl_quic_stream_map_update_state: { arguments: [P, P], return: "void" },
  ossl_quic_stream_map_release: { arguments: [P, P], return: "void" },
  ossl_quic_stream_iter_init: { arguments: [P, P, INT], return: "void" },
} as const;

const opened = dlopen(null, DEFINITIONS);
export const library = opened.lib;
export const native = opened.functions;
export const internals = attempt(() => dlopen(null, INTERNALS).functions);

/** Collects garbage, and has the C library give freed memory back to the system. Not every library can. */
export const giveBackFreed = loadTrim();

function loadTrim(): () => void {
  try {
    const definitions = { malloc_trim: { arguments: ["u64"], return: INT } } as const;
    const { malloc_trim: trim } = dlopen(null, definitions).functions;
    return () => {
      globalThis.gc?.();
      trim(0n);
    };
  } catch {
    return () => {};
  }
}

/** Something the engine was asked for and cannot do. */
export class EngineError extends Error {
  readonly trouble: QuicFailure;

  constructor(trouble: QuicFailure, message: string) {
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

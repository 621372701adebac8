import { getUint8, setUint64, setUint8 } from "node:ffi";
import * as ffi from "../../../base/process/ffi.ts";
import type { TlsSettings } from "../settings.ts";
import { EngineError, library, native, takeErrors } from "./native.ts";

const VERIFY_PEER = 1;
const FAIL_IF_NO_PEER_CERT = 2;
const CTRL_SESSION_CACHE_MODE = 44;
const CTRL_EXTRA_CHAIN_CERT = 14;
const CTRL_CLEAR_EXTRA_CHAIN_CERTS = 83;
const ALPN_OK = 0;
/**
 * No protocol in common. RFC 9001 § 8.1: the handshake fails then. OpenSSL fails it at its end; if the
 * callback refused it at once, OpenSSL would mostly not tell the client why.
 */
const ALPN_NONE = 3;

/** How one side of a handshake proves itself and whom it believes. Owns the native context. */
export class TlsContext implements Disposable {
  readonly pointer: ffi.Pointer;
  #alpnCallback = ffi.NULL;

  private constructor(method: ffi.Pointer) {
    this.pointer = native.SSL_CTX_new(method);
    if (this.pointer === ffi.NULL) throw new EngineError("unusable", takeErrors());
    // Every handshake shows its certificates: none is resumed.
    native.SSL_CTX_ctrl(this.pointer, CTRL_SESSION_CACHE_MODE, 0n, ffi.NULL);
  }

  static forClient(settings: TlsSettings): TlsContext {
    const context = new TlsContext(native.OSSL_QUIC_client_method());
    native.SSL_CTX_set_verify(context.pointer, VERIFY_PEER, ffi.NULL);
    return context.#loaded(settings);
  }

  static forServer(settings: TlsSettings, clientCertificate: "require" | "request"): TlsContext {
    const context = new TlsContext(native.OSSL_QUIC_server_method());
    const demand = clientCertificate === "require" ? FAIL_IF_NO_PEER_CERT : 0;
    native.SSL_CTX_set_verify(context.pointer, VERIFY_PEER | demand, ffi.NULL);
    native.SSL_CTX_set_num_tickets(context.pointer, 0n);
    context.#selectAlpn(settings.alpn);
    return context.#loaded(settings);
  }

  /** Takes the certificates, also in place of earlier ones. Connections that exist keep theirs. */
  load({ ca, cert, key }: TlsSettings): void {
    const authorities = readCertificates(ca, "CA");
    const store = native.X509_STORE_new();
    for (const each of authorities) {
      native.X509_STORE_add_cert(store, each);
      native.X509_free(each);
    }
    // The context owns the store from here on.
    native.SSL_CTX_set_cert_store(this.pointer, store);
    if (cert !== undefined && key !== undefined) this.#loadOwn(cert, key);
  }

  [Symbol.dispose](): void {
    native.SSL_CTX_free(this.pointer);
    if (this.#alpnCallback !== ffi.NULL) library.unregisterCallback(this.#alpnCallback);
  }

  #loaded(settings: TlsSettings): this {
    using opening = new DisposableStack();
    opening.use(this);
    this.load(settings);
    opening.move();
    return this;
  }

  #loadOwn(cert: string, key: string): void {
    using freed = new DisposableStack();
    const privateKey = freed.adopt(readKey(key), (each) => native.EVP_PKEY_free(each));
    const [leaf = ffi.NULL, ...chain] = readCertificates(cert, "certificate");
    freed.defer(() => {
      for (const each of [leaf, ...chain]) native.X509_free(each);
    });
    const isLoaded =
      native.SSL_CTX_use_certificate(this.pointer, leaf) === 1 &&
      native.SSL_CTX_use_PrivateKey(this.pointer, privateKey) === 1 &&
      native.SSL_CTX_check_private_key(this.pointer) === 1;
    if (!isLoaded) {
      throw new EngineError("unusable", `certificate and key do not fit: ${takeErrors()}`);
    }
    native.SSL_CTX_ctrl(this.pointer, CTRL_CLEAR_EXTRA_CHAIN_CERTS, 0n, ffi.NULL);
    for (let each = chain.shift(); each !== undefined; each = chain.shift()) {
      // Which the context owns from here on.
      native.SSL_CTX_ctrl(this.pointer, CTRL_EXTRA_CHAIN_CERT, 0n, each);
    }
  }

  /** OpenSSL asks which protocol to speak; what it gets points into memory of this context. */
  #selectAlpn(alpn: string): void {
    const ours = ffi.fixedText(alpn).subarray(0, -1);
    const name = ffi.addressOf(ours);
    this.#alpnCallback = library.registerCallback(
      { arguments: ["pointer", "pointer", "pointer", "pointer", "u32", "pointer"], return: "i32" },
      (_ssl, out, outLength, offered, length) => {
        if (!offers(offered as ffi.Pointer, length, ours)) return ALPN_NONE;
        setUint64(out as ffi.Pointer, 0, name);
        setUint8(outLength as ffi.Pointer, 0, ours.length);
        return ALPN_OK;
      },
    );
    native.SSL_CTX_set_alpn_select_cb(this.pointer, this.#alpnCallback, ffi.NULL);
  }
}

/** Whether a list of names, each after its length, has one of them. */
function offers(list: ffi.Pointer, length: number, name: Buffer): boolean {
  for (let at = 0; at < length; at += 1 + getUint8(list, at)) {
    if (getUint8(list, at) !== name.length) continue;
    if (name.every((byte, index) => getUint8(list, at + 1 + index) === byte)) return true;
  }
  return false;
}

/** The certificates of a PEM text, which the caller frees. */
export function readCertificates(pem: string, what: string): ffi.Pointer[] {
  const found = withBio(pem, (bio) => {
    const certificates: ffi.Pointer[] = [];
    for (;;) {
      const each = native.PEM_read_bio_X509(bio, ffi.NULL, ffi.NULL, ffi.NULL);
      if (each === ffi.NULL) return certificates;
      certificates.push(each);
    }
  });
  // The end of the text is an error to OpenSSL.
  const complaint = takeErrors();
  if (found.length === 0) throw new EngineError("unusable", `the ${what} is no PEM: ${complaint}`);
  return found;
}

/** The private key of a PEM text, which the caller frees. */
export function readKey(pem: string): ffi.Pointer {
  const key = withBio(pem, (bio) =>
    native.PEM_read_bio_PrivateKey(bio, ffi.NULL, ffi.NULL, ffi.NULL),
  );
  if (key === ffi.NULL)
    throw new EngineError("unusable", `the private key is no PEM: ${takeErrors()}`);
  return key;
}

function withBio<T>(pem: string, use: (bio: ffi.Pointer) => T): T {
  native.ERR_clear_error();
  const bytes = ffi.fixedText(pem);
  return ffi.lend(bytes, (address) => {
    using ends = new DisposableStack();
    // The text may be a private key: it is erased.
    ends.defer(() => bytes.fill(0));
    const bio = native.BIO_new_mem_buf(address, bytes.length - 1);
    ends.defer(() => native.BIO_free(bio));
    return use(bio);
  });
}

const out = ffi.pinnedBuffer(8);
const outAddress = ffi.addressOf(out);

/** The certificate that the peer of a connection showed, in DER. */
export function peerCertificate(ssl: ffi.Pointer): Buffer | undefined {
  const certificate = native.SSL_get1_peer_certificate(ssl);
  if (certificate === ffi.NULL) return undefined;
  using ends = new DisposableStack();
  ends.defer(() => native.X509_free(certificate));
  const der = ffi.fixedBuffer(native.i2d_X509(certificate, ffi.NULL));
  ffi.lend(der, (address) => {
    // It moves the address it is given on to the end.
    out.writeBigUInt64LE(address);
    native.i2d_X509(certificate, outAddress);
  });
  return der;
}

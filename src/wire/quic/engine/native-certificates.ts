import {
  addressOf,
  fixedBuffer,
  fixedText,
  lend,
  NULL,
  pinnedBuffer,
  type Pointer,
} from "../../../base/process/ffi.ts";
import { EngineError, native, takeErrors } from "./native.ts";

/** The certificates of a PEM text, which the caller frees. */
export function readCertificates(pem: string, what: string): Pointer[] {
  const found = withBio(pem, (bio) => {
    const certificates: Pointer[] = [];
    for (;;) {
      const each = native.PEM_read_bio_X509(bio, NULL, NULL, NULL);
      if (each === NULL) return certificates;
      certificates.push(each);
    }
  });
  // The end of the text is an error to OpenSSL.
  const complaint = takeErrors();
  if (found.length === 0) throw new EngineError("unusable", `the ${what} is no PEM: ${complaint}`);
  return found;
}

/** The private key of a PEM text, which the caller frees. */
export function readKey(pem: string): Pointer {
  const key = withBio(pem, (bio) => native.PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL));
  if (key === NULL) throw new EngineError("unusable", `the private key is no PEM: ${takeErrors()}`);
  return key;
}

function withBio<T>(pem: string, use: (bio: Pointer) => T): T {
  native.ERR_clear_error();
  const bytes = fixedText(pem);
  return lend(bytes, (address) => {
    const bio = native.BIO_new_mem_buf(address, bytes.length - 1);
    try {
      return use(bio);
    } finally {
      native.BIO_free(bio);
      // A key is nobody's business any more.
      bytes.fill(0);
    }
  });
}

const out = pinnedBuffer(8);
const outAddress = addressOf(out);

/** The certificate that the peer of a connection showed, in DER. */
export function peerCertificate(ssl: Pointer): Buffer | undefined {
  const certificate = native.SSL_get1_peer_certificate(ssl);
  if (certificate === NULL) return undefined;
  try {
    const der = fixedBuffer(native.i2d_X509(certificate, NULL));
    lend(der, (address) => {
      // It moves the address it is given on to the end.
      out.writeBigUInt64LE(address);
      native.i2d_X509(certificate, outAddress);
    });
    return der;
  } finally {
    native.X509_free(certificate);
  }
}

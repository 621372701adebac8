import {
  addressOf,
  fixedBuffer,
  lend,
  native,
  NULL,
  pinnedBuffer,
  type Pointer,
} from "./native.ts";

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

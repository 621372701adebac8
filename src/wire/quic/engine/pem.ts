import { EngineError, takeErrors } from "./engine-error.ts";
import { fixedText, lend, native, NULL, type Pointer } from "./native.ts";

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

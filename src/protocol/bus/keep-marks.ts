import { configureTextEncoding } from "@bufbuild/protobuf/wire";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Makes the library keep a byte order mark at the beginning of a text. By itself it drops the mark,
 * and a text would not arrive as it was sent.
 */
export function keepMarks(): void {
  // The other way that is offered, to replace the global TextDecoder, would change the program.
  // oxlint-disable-next-line typescript/no-deprecated
  configureTextEncoding({
    encodeUtf8: (text) => encoder.encode(text),
    encodeUtf8Into: (text, bytes) => encoder.encodeInto(text, bytes),
    decodeUtf8: (bytes) => decoder.decode(bytes),
    checkUtf8: (text) => text.isWellFormed(),
  });
}

/** Reads a stream up to a number of bytes. Leaving it before its end closes its connection. */
export async function boundedBody(
  stream: AsyncIterable<unknown> | Iterable<unknown>,
  most: number,
): Promise<{ readonly body: Buffer; readonly isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > most) break;
  }
  return { body: Buffer.concat(chunks).subarray(0, most), isCut: size > most };
}

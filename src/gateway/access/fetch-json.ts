const PATIENCE = 5_000;
/** Far more than keys or metadata are. */
const LARGEST = 512 * 1024;

/** A JSON object from elsewhere. Rejects where it is not there in time, too large, or no object. */
export async function fetchJson(url: string): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, {
    headers: { accept: "application/json" },
    // Where keys come from is not for a redirect to say.
    redirect: "error",
    signal: AbortSignal.timeout(PATIENCE),
  });
  const value: unknown = JSON.parse(await boundedText(response));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${url} answered with something that is not an object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

async function boundedText(response: Response): Promise<string> {
  const { body, url, ok, status } = response;
  if (!ok || body === null) {
    await body?.cancel();
    throw new Error(`${url} answered ${status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > LARGEST) throw new Error(`${url} answered with more than ${LARGEST} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

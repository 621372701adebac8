/**
 * What went wrong first. Where letting go of something fails because of it, too, `using` throws an
 * error that only has both of them; the first is what its words are about.
 */
export function originalError(error: unknown): unknown {
  let original = error;
  while (original instanceof SuppressedError) original = original.suppressed;
  return original;
}

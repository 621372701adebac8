/**
 * What a promise gives, if it settles within so many milliseconds. Otherwise rejects with what `late`
 * returns, or resolves to undefined if that is left out.
 */
export function atMost<T>(milliseconds: number, promise: Promise<T>, late: () => Error): Promise<T>;
export function atMost<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined>;
export async function atMost<T>(
  milliseconds: number,
  promise: Promise<T>,
  late?: () => Error,
): Promise<T | undefined> {
  const timeout = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => {
    if (late === undefined) timeout.resolve(undefined);
    else timeout.reject(late());
  }, milliseconds);
  try {
    return await Promise.race([promise, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Bytes of a stream that are on their way to the engine before it says that it took some. */
export const WRITE_WINDOW = 64 * 1024;

/**
 * Bytes of a stream that the engine reads before the program says that it took some. What the engine
 * leaves unread takes room from all other streams of the connection, so it is generous.
 */
export const READ_WINDOW = 4 * 1024 * 1024;

/** Removes what a session's turns can be undone with. */
export async function forgetUndo(data: string, sessionId: string): Promise<void> {
  const { Journal } = await import("../../agent/files/journal.ts");
  await new Journal(data, sessionId).remove();
}

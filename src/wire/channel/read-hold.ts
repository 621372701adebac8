/** Pauses a stream until all promises that hold it have settled. */
export function readHold(stream: { pause(): void; resume(): void }) {
  let holds = 0;
  return {
    until(hold: Promise<void>): void {
      holds++;
      stream.pause();
      const release = (): void => {
        holds--;
        if (holds === 0) stream.resume();
      };
      hold.then(release, release);
    },
  };
}

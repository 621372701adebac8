import { close, fstat, open, type Stats, write } from "node:fs";

// Plain descriptors: a `FileHandle` that nobody closes ends the process when it is collected, and
// one whose disk hangs cannot be closed.

export function openDescriptor(path: string, flags: number, mode: number): Promise<number> {
  return new Promise((resolve, reject) => {
    open(path, flags, mode, (error, descriptor) => (error ? reject(error) : resolve(descriptor)));
  });
}

/** Resolves to the number of bytes that were written, which may be fewer. */
export function writeBytes(descriptor: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, (error, written) => (error ? reject(error) : resolve(written)));
  });
}

export function statDescriptor(descriptor: number): Promise<Stats> {
  return new Promise((resolve, reject) => {
    fstat(descriptor, (error, stats) => (error ? reject(error) : resolve(stats)));
  });
}

/** What cannot be closed is not open. */
export function closeDescriptor(descriptor: number): Promise<void> {
  return new Promise((resolve) => {
    close(descriptor, () => resolve());
  });
}
